import { Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ReactNode, Ref } from "react";

interface Props extends ButtonProps {
  /** What stands on it. */
  word: ReactNode;
  ref?: Ref<HTMLAnchorElement>;
}

/** A link that looks like a button. */
export const LinkAct = createLink(({ word, ...rest }: Props) => (
  <Button component="a" size="compact-sm" variant="default" {...rest}>
    {word}
  </Button>
));
