import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { sends } from "@/parts/sends";
import { moment, shownZone, zonedTime } from "@/parts/time";
import { Chip } from "./ChoiceChip";
import { type Search, textOf } from "./filters";

/** The times within which lists can be asked for, as the API writes them. */
export const SINCE = ["1h", "24h", "7d", "30d"] as const;

/** A filter by the time of the start: within the last hours or days, or from one moment to another. */
export function TimeChip({ search, onChange }: { search: Search; onChange: (changes: Search) => void }) {
  const { t, i18n } = useTranslation("lists");
  const [opened, setOpened] = useState(false);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const since = textOf(search, "since");
  const after = textOf(search, "started_after");
  const before = textOf(search, "started_before");
  const within = (time: string) => t(`within.${time}`, { defaultValue: t("within", { time }) });
  const said = [
    since !== undefined && within(since),
    after !== undefined && t("from", { at: moment(after, i18n.language) }),
    before !== undefined && t("to", { at: moment(before, i18n.language) }),
  ].filter((each) => each !== false);
  const take = (changes: Search) => {
    setOpened(false);
    onChange({ since: undefined, started_after: undefined, started_before: undefined, ...changes });
  };
  return (
    <Chip
      name={t("started")}
      value={said.length === 0 ? null : said.join(" ")}
      onClear={() => take({})}
      opened={opened}
      onOpened={setOpened}
    >
      <div className="line wrap">
        {SINCE.map((each) => (
          <Button
            key={each}
            size="compact-xs"
            variant={each === since ? "light" : "default"}
            onClick={() => take({ since: each })}
          >
            {within(each)}
          </Button>
        ))}
      </div>
      <form
        className="time-range"
        onSubmit={sends(() =>
          take({ started_after: zonedTime(from) ?? undefined, started_before: zonedTime(to) ?? undefined }),
        )}
      >
        <TextInput
          type="datetime-local"
          size="xs"
          label={t("fromLabel")}
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          size="xs"
          label={t("toLabel")}
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        <span className="mute">{shownZone()}</span>
        <Button type="submit" size="xs">
          {t("filter")}
        </Button>
      </form>
    </Chip>
  );
}
