import { MultiSelect, NumberInput, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { useFields } from "@/forms/useFields";
import { projectNames } from "./queries";

const SCOPES: Schemas["Scope"][] = [
  "runs:read",
  "runs:write",
  "definitions:read",
  "definitions:write",
  "projects:read",
  "projects:write",
  "cluster:read",
  "admin",
];
const DAY_S = 86_400;
const DAYS_USUAL = 90;
const DAYS_MAX = 366;

interface Props {
  account: string;
  onClose: () => void;
  onMade: (token: Schemas["TokenMade"]) => void;
}

/** What a new token may do, where, and for how long. */
export function NewToken({ account, onClose, onMade }: Props) {
  const { t } = useTranslation("settings");
  const start = { name: "", scopes: ["runs:read"], projects: [] as string[], days: DAYS_USUAL, password: "" };
  const { values, change, fieldsOf } = useFields(start);
  const { name, scopes, projects, days, password } = values;
  const known = useQuery(projectNames);
  const make = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/users/{account}/tokens", {
        params: { path: { account } },
        body: {
          name,
          scopes: SCOPES.filter((each) => scopes.includes(each)),
          lives_s: days * DAY_S,
          ...(password !== "" && { password }),
          ...(projects.length > 0 && { projects }),
        },
      }),
    onSuccess: onMade,
  });
  const field = fieldsOf(make.error);
  return (
    <FormDialog
      title={t("newToken")}
      verb={t("make")}
      why={name === "" ? t("nameFirst") : scopes.length === 0 ? t("scopeFirst") : null}
      sending={make}
      fields={["name", "scopes", "projects", "lives_s", "password"]}
      onClose={onClose}
    >
      <TextInput label={t("name")} description={t("tokenNameHelp")} data-autofocus {...field("name")} />
      <MultiSelect label={t("scopes")} data={SCOPES} {...field("scopes")} />
      <MultiSelect
        label={t("projects")}
        description={t("tokenProjectsHelp")}
        data={known.data ?? []}
        {...field("projects")}
      />
      <NumberInput
        label={t("tokenDays")}
        min={1}
        max={DAYS_MAX}
        value={days}
        error={faultAt(make.error, "lives_s")}
        onChange={(value) => change({ days: Number(value) || 1 })}
      />
      <PasswordInput
        label={t("ownPassword")}
        description={t("ownPasswordHelp")}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ "aria-label": t("show") }}
        {...field("password")}
      />
    </FormDialog>
  );
}
