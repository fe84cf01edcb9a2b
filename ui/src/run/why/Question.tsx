import { Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { Form } from "@/forms/Form";
import { faultBeside, faultsOf, pointerOf } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { Act } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Ago, Moment } from "@/parts/Time";
import { ParameterFields } from "@/start/ParameterField";
import { type Given, parameterOf, valuesGiven } from "@/start/parameters";
import { useRun } from "../context";
import { askedBy } from "../queries";

type Asked = Schemas["WaitingApproval"];

/** What an attempt of an APPROVAL task asks, and the form of the answer. */
export function Question({ attempt }: { attempt: string }) {
  const { run, search } = useRun();
  const asked = useQuery(askedBy(run.id));
  const found = asked.data?.items.find((each) => each.task_instance_id === attempt);
  const place = useRef<HTMLDivElement>(null);
  const isThere = found !== undefined;
  // Who comes for this attempt, as by the link of an alert, does not look for it below the graph.
  useEffect(() => {
    const end = place.current?.getBoundingClientRect().bottom ?? 0;
    if (isThere && search.attempt === attempt && end > innerHeight) place.current?.scrollIntoView();
  }, [isThere, search.attempt, attempt]);
  return (
    <Answer of={asked} lines={6}>
      {() =>
        found && (
          <div ref={place} className="question">
            <AnswerForm asked={found} />
          </div>
        )
      }
    </Answer>
  );
}

function AnswerForm({ asked }: { asked: Asked }) {
  const { t } = useTranslation(["run", "start"]);
  const { task, answerers, fault } = asked;
  const { values, change, fieldsOf } = useFields({ typed: {} as Given["typed"], reason: "" });
  const parameters = asked.form.map((each) => parameterOf(each.name, each, each.value));
  const params = valuesGiven(parameters, values.typed);
  const done = useDone("why", "run", "needs");
  const answer = useMutation({
    mutationFn: (body: Schemas["GiveAnswer"]) =>
      api.POST("/api/v1/task-instances/{id}/answer", { params: { path: { id: asked.task_instance_id } }, body }),
    onSuccess: ({ reason }) => done(t("answered", { task, reason })),
  });
  const { reason } = values;
  const mayNot = asked.may_answer ? null : t("mayNotAnswer", { who: answerers });
  const whyNot = mayNot ?? fault ?? null;
  const approve = () => answer.mutate({ answer: "APPROVE", params, reason });
  return (
    <Form send={whyNot === null && !answer.isPending ? approve : null} isCheckedByServer>
      <div>
        <h3>{t("waitsFor", { who: answerers })}</h3>
        <p className="mute">
          <Ago at={asked.since} />
          {asked.due_at != null && (
            <>
              {" · "}
              {t(`until.${asked.on_timeout}`)} <Moment at={asked.due_at} />
            </>
          )}
        </p>
      </div>
      <blockquote>{asked.text}</blockquote>
      {fault != null && <p className="field-fault">{fault}</p>}
      <fieldset className="form" disabled={mayNot !== null} aria-label={t("answer")}>
        <ParameterFields
          parameters={parameters}
          typed={values.typed}
          faultOf={faultsOf(answer.error, answer.variables?.params, params)}
          onChange={(typed) => change({ typed })}
        />
        <Textarea
          label={t("comment")}
          description={t("commentHelp")}
          autosize
          minRows={1}
          maxRows={6}
          {...fieldsOf(answer.error)("reason")}
        />
      </fieldset>
      <Refusal error={faultBeside(answer.error, "reason", ...parameters.map(({ name }) => pointerOf(name)))} />
      <div className="form-end">
        <Submit
          isPending={answer.isPending && answer.variables.answer === "APPROVE"}
          why={whyNot}
          word={t("approve")}
        />
        <Act
          variant="default"
          why={mayNot ?? (reason.trim() === "" ? t("rejectNeeds") : null)}
          loading={answer.isPending && answer.variables.answer === "REJECT"}
          onClick={() => answer.mutate({ answer: "REJECT", params: {}, reason })}
          word={t("reject")}
        />
      </div>
      {mayNot !== null && <p className="mute">{mayNot}</p>}
    </Form>
  );
}
