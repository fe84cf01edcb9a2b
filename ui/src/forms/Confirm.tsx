import type { ComponentProps } from "react";
import { FormDialog } from "./FormDialog";

/** Asks once more before something that cannot be undone, and says what will happen. */
export function Confirm(
  props: Pick<ComponentProps<typeof FormDialog>, "title" | "verb" | "sending" | "onClose" | "children">,
) {
  return <FormDialog {...props} color="coral" isFirst />;
}
