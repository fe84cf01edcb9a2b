import { Chip, NumberInput, Select, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Choices } from "./cron";

const MONDAY_FIRST = [1, 2, 3, 4, 5, 6, 0];
/** Divisors, so that the steps are even. */
const MINUTE_STEPS = ["1", "2", "3", "5", "10", "15", "20", "30"];
const HOUR_STEPS = ["1", "2", "3", "4", "6", "8", "12"];
/** A Sunday, to take the names of the days from. */
const SUNDAY_MS = Date.UTC(2023, 0, 1);
const DAY_MS = 86_400_000;

/** The details of a rule that can be chosen: each how many, at which time, on which days. */
export function ChoiceFields({ choices, onChange }: { choices: Choices; onChange: (to: Partial<Choices>) => void }) {
  const { t, i18n } = useTranslation("schedules");
  const { unit } = choices;
  const isStepped = unit === "minutes" || unit === "hours";
  const steps = unit === "minutes" ? MINUTE_STEPS : HOUR_STEPS;
  const weekday = new Intl.DateTimeFormat(i18n.language, { weekday: "short", timeZone: "UTC" });
  const time = `${String(choices.hour).padStart(2, "0")}:${String(choices.minute).padStart(2, "0")}`;
  return (
    <div className="choices">
      {isStepped && (
        <Select
          w={150}
          label={t(unit === "minutes" ? "everyMinutes" : "everyHours")}
          data={steps.includes(String(choices.every)) ? steps : [...steps, String(choices.every)]}
          value={String(choices.every)}
          allowDeselect={false}
          onChange={(every) => onChange({ every: Number(every) })}
        />
      )}
      {unit === "hours" && (
        <NumberInput
          w={150}
          label={t("atMinute")}
          min={0}
          max={59}
          value={choices.minute}
          onChange={(minute) => onChange({ minute: Math.min(59, Number(minute) || 0) })}
        />
      )}
      {unit === "weeks" && (
        <Chip.Group
          multiple
          value={choices.weekdays.map(String)}
          onChange={(days) => days.length > 0 && onChange({ weekdays: days.map(Number) })}
        >
          <fieldset className="weekdays" aria-label={t("onDays")}>
            {MONDAY_FIRST.map((day) => (
              <Chip key={day} value={String(day)} size="xs" radius="sm">
                {weekday.format(SUNDAY_MS + day * DAY_MS)}
              </Chip>
            ))}
          </fieldset>
        </Chip.Group>
      )}
      {unit === "months" && (
        <Select
          w={150}
          label={t("onDay")}
          data={[
            ...Array.from({ length: 31 }, (_, day) => ({ value: String(day + 1), label: String(day + 1) })),
            { value: "L", label: t("lastDay") },
          ]}
          value={choices.day}
          allowDeselect={false}
          onChange={(day) => onChange({ day: day ?? "1" })}
        />
      )}
      {!isStepped && (
        <TextInput
          w={150}
          type="time"
          label={t("atTime")}
          value={time}
          onChange={(event) => {
            const [hour, minute] = event.currentTarget.value.split(":").map(Number);
            if (hour !== undefined && minute !== undefined) onChange({ hour, minute });
          }}
        />
      )}
    </div>
  );
}
