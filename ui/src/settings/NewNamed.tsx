import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Panel } from "@/parts/Panel";
import { useOpen } from "./ListAndDetail";
import { ValueForm } from "./ValueForm";

interface Props<T> {
  section: "projects" | "users";
  label: string;
  create: (name: string) => Promise<T>;
  /** By what the address names the new one. */
  keyOf: (made: T) => string;
  /** What is said of it. */
  said: (made: T) => string;
  children?: ReactNode;
}

/** Makes a project or an account by its name, and opens it. */
export function NewNamed<T>({ section, label, create, keyOf, said, children }: Props<T>) {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone(section);
  const open = useOpen(section);
  const [name, setName] = useState("");
  const creation = useMutation({
    mutationFn: () => create(name),
    onSuccess: async (made) => {
      await done(said(made));
      open(keyOf(made));
    },
  });
  return (
    <Panel title={t(`new.${section}`)}>
      <div className="pad">
        <ValueForm
          label={label}
          verb={t("create")}
          value={name}
          onValue={setName}
          field="name"
          whyNot={whyNot}
          whyEmpty={t("nameFirst")}
          request={creation}
          onSubmit={() => creation.mutate()}
        >
          {children}
        </ValueForm>
      </div>
    </Panel>
  );
}
