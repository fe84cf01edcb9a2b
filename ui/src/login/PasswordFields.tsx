import { PasswordInput, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";

interface Props {
  name: string;
  onName: (name: string) => void;
  password: string;
  onPassword: (password: string) => void;
}

/** Who logs in. Typing begins at the first field that is empty. */
export function PasswordFields({ name, onName, password, onPassword }: Props) {
  const { t } = useTranslation("login");
  const isKnown = name !== "";
  return (
    <>
      <TextInput
        label={t("name")}
        autoComplete="username"
        required
        data-autofocus={!isKnown || undefined}
        autoFocus={!isKnown}
        value={name}
        onChange={(event) => onName(event.currentTarget.value)}
      />
      <PasswordInput
        label={t("password")}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ "aria-label": t("show") }}
        required
        data-autofocus={isKnown || undefined}
        value={password}
        onChange={(event) => onPassword(event.currentTarget.value)}
      />
    </>
  );
}
