/** Where the chosen theme is kept: public/first-paint.js reads the same word before anything is painted. */
import { localStorageColorSchemeManager } from "@mantine/core";

export const colorSchemes = localStorageColorSchemeManager({ key: "shoal-theme" });
