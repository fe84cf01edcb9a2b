import { Button, TextInput } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultsOf, pointerOf } from "@/forms/faults";
import { Pairs, pairsOf, valuesOf } from "@/forms/Pairs";
import { StartFields } from "@/forms/StartFields";
import { OPTIONS, optionsOf, sentOptions } from "@/forms/startOptions";
import { useFields } from "@/forms/useFields";
import { Failure } from "@/parts/Answer";
import { Dialog } from "@/parts/Dialog";
import { Moment } from "@/parts/Time";
import { valuesOf as valuesOfRun } from "@/run/model";
import { specOf } from "@/run/queries";
import { runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";
import { projectOf } from "@/settings/queries";
import { type Asked, askNext, askNoMore } from "./asking";
import { ParameterFields } from "./ParameterField";
import { type Given, givenBy, type Parameter, parametersOf, valuesGiven } from "./parameters";
import { useStart } from "./useStart";

type Content = Schemas["WorkflowContentAnswer"];

/** Reads what the fields are made of. Nothing is shown until then: a dialog gives the focus to a field as it opens. */
export function RunForm(props: Asked) {
  const content = useQuery(specOf(props.code, props.version));
  const project = useQuery({ ...projectOf(content.data?.project ?? ""), enabled: content.data !== undefined });
  if (content.data !== undefined && project.isFetched)
    return <Fields {...props} content={content.data} shared={project.data?.params ?? {}} />;
  if (content.error === null) return null;
  return (
    <Dialog onClose={askNoMore} title={props.name}>
      <Failure error={content.error} again={() => void content.refetch()} />
    </Dialog>
  );
}

/** The fields: `shared` are the parameters of the project, which every run has. */
function Fields({ code, name, version, values = {}, stays, content, shared }: Asked & FieldsProps) {
  const { t } = useTranslation("start");
  const parameters = parametersOf(content.spec);
  const formOf = ({ typed, others }: Given) => ({ typed, others: pairsOf(others) });
  const {
    values: form,
    change,
    fieldsOf,
  } = useFields(() => ({
    ...formOf(givenBy(values, parameters, shared)),
    ...optionsOf(),
    date: "",
    time: "",
  }));
  const start = useStart(() => undefined, askNext);
  const field = fieldsOf(start.error);
  const others = valuesOf(form.others);
  const params = { ...valuesGiven(parameters, form.typed), ...others };
  const faultOf = faultsOf(start.error, start.variables?.body?.params, params);
  const send = () => {
    const date = form.date === "" || form.time === "" ? form.date : `${form.date}T${form.time}`;
    const body = { ...sentOptions(form), params, ...(version !== undefined && { version }), ...(date && { date }) };
    start.mutate({ code, name, stays, body });
  };
  const all = [...parameters.map((each) => each.name), ...Object.keys(others)];
  return (
    <FormDialog
      title={t("title", { name, version: content.version })}
      size={680}
      verb={t("run")}
      sending={{ ...start, mutate: send }}
      fields={[...all.map(pointerOf), ...OPTIONS, "date"]}
      isFirst={parameters.length === 0}
      isCheckedByServer
      also={
        <TakeLast
          name={name}
          content={content}
          params={params}
          onTake={(last) => change(formOf(last))}
          {...{ parameters, shared }}
        />
      }
      onClose={askNoMore}
    >
      <ParameterFields
        parameters={parameters}
        typed={form.typed}
        faultOf={faultOf}
        hasFocus
        onChange={(typed) => change({ typed })}
      />
      <Pairs
        label={parameters.length > 0 ? t("others") : t("noParameters")}
        {...field("others")}
        pairs={form.others}
        error={Object.keys(others).flatMap((each) => faultOf(each) ?? [])[0]}
      />
      <StartFields field={field} options={form}>
        <div className="fields">
          <TextInput type="date" label={t("date")} {...field("date")} />
          {form.date !== "" && <TextInput type="time" label={t("time")} {...field("time")} />}
        </div>
      </StartFields>
    </FormDialog>
  );
}

interface FieldsProps {
  content: Content;
  shared: Record<string, string>;
}

interface LastProps extends FieldsProps {
  name: string;
  parameters: Parameter[];
  /** The values as the fields are now. */
  params: Record<string, string>;
  onTake: (last: Given) => void;
}

/** Fills in the values of the last run that somebody started by hand; not there while the fields have them. */
function TakeLast({ name, content, parameters, shared, params, onTake }: LastProps) {
  const { t } = useTranslation("start");
  const filter = runFilterOf({ workflow: name, trigger: "HAND" }, content.project);
  const last = useQuery(runsPage(filter, undefined, 1)).data?.items[0];
  if (last === undefined) return null;
  const found = givenBy(valuesOfRun(last.params), parameters, shared);
  const theirs = Object.entries({ ...valuesGiven(parameters, found.typed), ...found.others });
  if (theirs.every(([each, value]) => params[each] === value)) return null;
  return (
    <Button
      variant="subtle"
      className="take-last"
      leftSection={<IconHistory size={14} aria-hidden />}
      onClick={({ currentTarget: { form } }) => {
        // It goes away, and the keys would go with it.
        form?.querySelector<HTMLElement>("[type=submit]")?.focus();
        onTake(found);
      }}
    >
      <span>
        {t("useLast", { run: last.id })} {last.started_at != null && <Moment at={last.started_at} />}
      </span>
    </Button>
  );
}
