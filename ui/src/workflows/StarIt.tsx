import { IconStar, IconStarFilled } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { me } from "@/login/session";
import { IconAct } from "@/parts/IconAct";
import { kept } from "@/parts/shared";

export interface Starred {
  code: string;
  project: string;
  name: string;
}

/** By the names of those who log in in this browser, since the server has no place for it. */
const stars = kept<Record<string, Starred[]>>("shoal-stars", {});

/** The workflows that the one who is logged in watches. */
export function useStarred(): Starred[] {
  const who = useQuery(me).data?.name ?? "";
  return stars.use()[who] ?? [];
}

/** Watches a workflow, or no longer: Now shows those that are watched. */
export function StarIt({ workflow: { code, project, name } }: { workflow: Starred }) {
  const { t } = useTranslation("parts");
  const who = useQuery(me).data?.name ?? "";
  const all = useStarred();
  const others = all.filter((each) => each.code !== code);
  const isOn = others.length < all.length;
  const change = () => stars.set({ ...stars.now(), [who]: isOn ? others : [...all, { code, project, name }] });
  const word = t("watch", { name });
  return (
    <IconAct
      icon={isOn ? IconStarFilled : IconStar}
      word={word}
      size={30}
      className="on-hover"
      data-shown={isOn || undefined}
      aria-pressed={isOn}
      onClick={change}
    />
  );
}
