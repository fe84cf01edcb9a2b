/** A crontab in words, in the language of the page. Times always come from the server: these are words only. */
import cronstrue from "cronstrue/i18n";
import { NICKNAMES } from "@/schedules/cron";

/** What a crontab means; the crontab itself if there are no words for it. */
export function cronWords(crontab: string, language: string): string {
  const written = NICKNAMES[crontab.trim().toLowerCase()] ?? crontab.trim();
  // Five fields are those of cron, where Sunday is 0; six or seven are Quartz's, where it is 1.
  const isQuartz = written.split(/\s+/).length > 5;
  try {
    return cronstrue.toString(written, {
      locale: language === "zh" ? "zh_CN" : "en",
      use24HourTimeFormat: true,
      dayOfWeekStartIndexZero: !isQuartz,
    });
  } catch {
    return crontab;
  }
}
