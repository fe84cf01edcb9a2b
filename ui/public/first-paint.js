// Before anything is painted: the theme and language that this browser chose, so that nothing flashes.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = localStorage.getItem("shoal-theme") || "auto";
  root.dataset.mantineColorScheme = theme === "auto" ? (dark ? "dark" : "light") : theme;
  const language = localStorage.getItem("shoal-language") || navigator.language || "en";
  root.lang = language.startsWith("zh") ? "zh" : "en";
})();
