import { type ChangeEvent, useState } from "react";
import { faultAt } from "./faults";

type Typed = ChangeEvent<HTMLInputElement | HTMLTextAreaElement>;

/** What the fields of a form hold, by the names that the API has for them. */
export function useFields<T extends object>(start: T | (() => T)) {
  const [values, setValues] = useState(start);
  const change = (to: Partial<T>) => setValues((shown) => ({ ...shown, ...to }));
  /** What a field is given so that it shows its value and what is wrong with it, and changes it. */
  const fieldsOf =
    (error: Error | null) =>
    <K extends keyof T & string>(name: K) => ({
      value: values[name],
      error: faultAt(error, name),
      onChange: (given: T[K] | Typed) =>
        change({ [name]: isTyped(given) ? given.currentTarget.value : given } as Partial<T>),
    });
  return { values, change, fieldsOf };
}

function isTyped(given: unknown): given is Typed {
  return typeof given === "object" && given !== null && "currentTarget" in given;
}
