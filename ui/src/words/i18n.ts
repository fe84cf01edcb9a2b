/** Words of the page in English and Chinese: one file for each folder and language, loaded with the folder's page. */
import i18next from "i18next";
import { initReactI18next } from "react-i18next";

export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const files = import.meta.glob<Record<string, string>>("../*/words/*.json", { import: "default" });

/** The language of the document, which public/first-paint.js chose. */
function firstLanguage(): Language {
  return document.documentElement.lang === "zh" ? "zh" : "en";
}

/** Make words ready; each folder is a namespace, `app` has those of the frame. */
export async function startWords(): Promise<void> {
  await i18next
    .use({
      type: "backend",
      read: async (language: string, folder: string) => {
        const load = files[`../${folder}/words/${language}.json`];
        if (load === undefined) throw new Error(`no words for ${folder} in ${language}`);
        return load();
      },
    })
    .use(initReactI18next)
    .init({
      lng: firstLanguage(),
      fallbackLng: false,
      ns: ["app", "parts"],
      defaultNS: "app",
      keySeparator: false,
      nsSeparator: ":",
      interpolation: { escapeValue: false },
      react: { useSuspense: true },
    });
}

/** Have the words of these folders ready. */
export function loadWords(folders: string[]): Promise<void> {
  return i18next.loadNamespaces(folders);
}

/** Change the language of the page, and remember it in this browser. */
export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem("shoal-language", language);
  document.documentElement.lang = language;
  await i18next.changeLanguage(language);
}
