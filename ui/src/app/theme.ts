/** Mantine in Shoal's colours: its variables are those of tokens.css, so that both themes exist once. */
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

/** Ten shades of a colour, from the lightest to the darkest. */
function shades(hex: string): MantineColorsTuple {
  return hex.split(" ").map((shade) => `#${shade}`) as unknown as MantineColorsTuple;
}

const lagoon = shades("e6f7f8 cbecee a1dadd 73c4c9 49acb4 25949c 077c86 006670 01505a 063842");
const coral = shades("ffefed ffddd9 ffbfb7 fc9d92 f47c70 e86156 d44b43 b83833 992c27 6b1e1b");
const gray = shades("eaf2f3 e2ebec d8e2e3 c9d5d7 bac7c9 5d6e73 5d6e73 415359 2a3d43 14282e");
const dark = shades("e3ebec abb7b9 88979a 88979a 394b50 17272c 0f1c20 091317 0c171b 05090b");

const small = { defaultProps: { size: "sm" } };

export const theme = createTheme({
  primaryColor: "lagoon",
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  black: "#14282e",
  colors: { lagoon, coral, red: coral, gray, dark },
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--font-mono)",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  defaultRadius: "sm",
  respectReducedMotion: true,
  radius: { xs: "3px", sm: "6px", md: "10px", lg: "10px", xl: "999px" },
  fontWeights: { regular: "400", medium: "500", bold: "500" },
  headings: { fontWeight: "500" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  components: {
    Button: small,
    TextInput: small,
    PasswordInput: small,
    NumberInput: small,
    Select: small,
    MultiSelect: small,
    Textarea: small,
    Checkbox: small,
    Switch: small,
  },
});

const same = {
  "--mantine-color-body": "var(--bg)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--text-3)",
  "--mantine-color-placeholder": "var(--text-3)",
  "--mantine-color-default": "var(--surface)",
  "--mantine-color-default-hover": "var(--hover)",
  "--mantine-color-error": "var(--failure)",
  "--mantine-color-default-border": "var(--line-strong)",
  "--mantine-color-anchor": "var(--primary)",
  "--mantine-color-success": "var(--success)",
  "--mantine-primary-color-filled-hover": "var(--primary-hover)",
};

export const variables: CSSVariablesResolver = () => ({ variables: {}, light: same, dark: same });
