import { Autocomplete, PasswordInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { faultAt, faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { sends } from "@/parts/sends";

interface Props {
  label: string;
  verb: string;
  value: string;
  onValue: (value: string) => void;
  /** The field of the request that the value is, for what is wrong with it. */
  field: "name" | "project" | "password";
  /** What may be chosen in it; something else can be typed too. */
  choices?: string[] | undefined;
  /** Why it cannot be sent: without the right, or without a value. */
  whyNot: string | null;
  whyEmpty: string;
  request: { isPending: boolean; error: Error | null };
  onSubmit: () => void;
  /** What is chosen next to it. */
  children?: ReactNode;
}

/** One value to give, in one line below what is there: a new name, a member, a password. */
export function ValueForm({ label, verb, value, onValue, field, choices, request, onSubmit, ...props }: Props) {
  const { t } = useTranslation("settings");
  const given = {
    "aria-label": label,
    placeholder: label,
    value,
    error: faultAt(request.error, field),
  };
  return (
    <>
      <form className="line new-named" onSubmit={sends(onSubmit)}>
        {field === "password" ? (
          <PasswordInput
            className="grow"
            autoComplete="new-password"
            visibilityToggleButtonProps={{ "aria-label": t("show") }}
            {...given}
            onChange={(event) => onValue(event.currentTarget.value)}
          />
        ) : (
          <Autocomplete {...given} data={choices ?? []} onChange={onValue} />
        )}
        {props.children}
        <Submit
          isPending={request.isPending}
          why={props.whyNot ?? (value === "" ? props.whyEmpty : null)}
          word={verb}
        />
      </form>
      <Refusal error={faultBeside(request.error, field)} />
    </>
  );
}
