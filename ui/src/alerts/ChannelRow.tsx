import { Loader } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Look } from "@/parts/State";
import { sentenceOf } from "@/parts/sentence";
import { Ago, Moment } from "@/parts/Time";
import { count } from "@/parts/time";
import type { Channel } from "./queries";

/** A channel, without its secrets: whether it works, and what a test of it found. */
export function ChannelRow({ channel, onChange }: { channel: Channel; onChange: () => void }) {
  const { t } = useTranslation("alerts");
  const whyNot = useWhyNot("ADMIN");
  const path = { name: channel.name };
  const test = useMutation({
    mutationFn: () => api.POST("/api/v1/alert-channels/{name}:test", { params: { path } }),
  });
  const remove = () =>
    api.DELETE("/api/v1/alert-channels/{name}", {
      params: {
        path,
        header: match(channel.version),
        query: { force: channel.waiting > 0 },
      },
    });
  return (
    <tr>
      <td title={channel.description}>{channel.name}</td>
      <td className="mono masked" title={t("masked")}>
        {channel.url}
      </td>
      <td className="wrap">
        {channel.groups.length === 0 ? <span className="mute">{t("inNoGroup")}</span> : channel.groups.join(", ")}
      </td>
      <td className="wrap of-state">
        <ChannelState channel={channel} />
      </td>
      <td className="num">{channel.last_sent_at != null ? <Ago at={channel.last_sent_at} /> : "–"}</td>
      <td>
        <div className="row-acts">
          <span className="checked tested" aria-live="polite">
            {test.isPending && (
              <>
                <Loader size={12} /> {t("testing")}
              </>
            )}
            {!test.isPending && <Tested answer={test.data} error={test.error} />}
          </span>
          <Act size="compact-sm" why={whyNot} loading={test.isPending} onClick={() => test.mutate()} word={t("test")} />
          <ChangeOrDelete name={channel.name} whyNot={whyNot} onChange={onChange} remove={remove} touches={["alerts"]}>
            <p>{channel.waiting > 0 ? t("deleteWaiting", { count: channel.waiting }) : t("deleteChannelHelp")}</p>
          </ChangeOrDelete>
        </div>
      </td>
    </tr>
  );
}

function ChannelState({ channel }: { channel: Channel }) {
  const { t } = useTranslation("alerts");
  const { enabled, waiting, waits_since, last_error, next_try_at } = channel;
  if (!enabled) return <Look of="SKIPPED" word={t("off")} />;
  if (waiting === 0) return <Look of="NORMAL" word={t("nothingWaits")} />;
  const isStuck = last_error != null;
  return (
    <span className="checked">
      <i className="st" data-s={isStuck ? "DELAY_EXECUTION" : "QUEUED"} aria-hidden />
      <span>
        {t("waitHere", { count: waiting, number: count(waiting) })}
        {waits_since != null && (
          <>
            {t("since")}
            <Moment at={waits_since} />
          </>
        )}
        {isStuck && `: ${last_error}`}
        {next_try_at != null && (
          <>
            {"; "}
            {t("nextTry")} <Moment at={next_try_at} />
          </>
        )}
      </span>
    </span>
  );
}

/** What a test found. */
function Tested({ answer, error }: { answer: Schemas["ChannelTested"] | undefined; error: Error | null }) {
  const { t } = useTranslation("alerts");
  if (error !== null)
    return (
      <span className="checked">
        <i className="st" data-s="FAILURE" aria-hidden /> {sentenceOf(error)}
      </span>
    );
  if (answer === undefined) return null;
  const look = answer.state === "SENT" ? "SUCCESS" : answer.state === "WAIT" ? "LATE" : "FAILURE";
  return (
    <span className="checked">
      <i className="st" data-s={look} aria-hidden />{" "}
      {answer.state === "SENT" ? t("testSent") : t("testFailed", { reason: answer.reason ?? answer.state })}
    </span>
  );
}
