import { Button, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Failure } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { valuesOf } from "../model";
import type { RunPage } from "../queries";
import { useChange } from "./changes";

interface Props {
  run: RunPage;
  close: () => void;
}

/** Asks for the parameters of another run of the same version, and opens it: the values of a run never change. */
export function ParametersDialog({ run, close }: Props) {
  const { t } = useTranslation("run");
  const navigate = useNavigate();
  const ask = useChange(run);
  const [values, setValues] = useState<[string, string][]>(() => [...Object.entries(valuesOf(run.params)), ["", ""]]);
  const set = (place: number, name: string, value: string) =>
    setValues((old) => {
      const next = old.map((pair, each): [string, string] => (each === place ? [name, value] : pair));
      return next.at(-1)?.[0] === "" ? next : [...next, ["", ""]];
    });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const params = Object.fromEntries(values.filter(([name]) => name !== ""));
    const { command } = await ask.mutateAsync({ do: "start", params });
    close();
    if (command?.run_id) await navigate({ to: "/runs/$id", params: { id: command.run_id }, search: {} });
    else await navigate({ to: "/queue" });
  };
  return (
    <Dialog onClose={close} title={t("otherTitle", { workflow: run.workflow ?? run.workflow_code })} size="lg">
      <form className="run-params" onSubmit={(event) => void submit(event).catch(() => undefined)}>
        <p className="soft">{t("otherSays", { version: run.version })}</p>
        {values.map(([name, value], place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; names are being typed
          <div className="pair" key={place}>
            <TextInput
              aria-label={t("paramName")}
              placeholder={t("paramName")}
              value={name}
              onChange={(event) => set(place, event.currentTarget.value, value)}
            />
            <TextInput
              aria-label={t("paramValue", { name })}
              placeholder={t("value")}
              value={value}
              onChange={(event) => set(place, name, event.currentTarget.value)}
            />
          </div>
        ))}
        {ask.error && <Failure error={ask.error} />}
        <div className="line end">
          <Button variant="default" onClick={close}>
            {t("cancel")}
          </Button>
          <Button type="submit" loading={ask.isPending}>
            {t("start")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
