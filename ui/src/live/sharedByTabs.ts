/**
 * One event stream for all tabs of a browser. HTTP/1.1 allows six connections to a host, so tabs that each had a stream
 * would block each other. The tab that holds the Web Lock has the stream, and passes its events on by BroadcastChannel.
 */
export interface LiveEvent {
  kind: string;
  data: Record<string, unknown> & { topic: string };
}

export interface LiveState {
  isLive: boolean;
  /** When the last event or sign of life came, in milliseconds since 1970. */
  at: number;
}

type Message =
  | { say: "want"; tab: string; topics: string[] }
  | { say: "gone"; tab: string }
  | { say: "who" }
  | { say: "event"; event: LiveEvent }
  | { say: "state"; state: LiveState };

export interface Connection {
  close(): void;
}
export type Connect = (
  topics: string[],
  onEvent: (event: LiveEvent) => void,
  onState: (isLive: boolean) => void,
) => Connection;

/** A BroadcastChannel, or what stands for it in a test. */
export interface Channel {
  post(message: Message): void;
  listen(receive: (message: Message) => void): void;
}

const TAB_SILENT_MS_MAX = 45_000;
const WANT_EVERY_MS = 15_000;

export class LiveStream {
  private readonly wanted = new Map<string, number>();
  private readonly tabs = new Map<string, { topics: string[]; at: number }>();
  private readonly receivers = new Set<(event: LiveEvent) => void>();
  private readonly watchers = new Set<() => void>();
  private connection: Connection | null = null;
  private connected = "";
  private isLeader = false;
  private isShown = true;
  state: LiveState = { isLive: true, at: Date.now() };

  constructor(
    private readonly tab: string,
    private readonly channel: Channel,
    private readonly connect: Connect,
  ) {
    channel.listen((message) => this.receive(message));
  }

  /** Called when this tab is the one with the stream. */
  lead(): void {
    this.isLeader = true;
    this.channel.post({ say: "who" });
    this.want();
  }

  /** Watch a topic until the returned function is called. */
  watch(topic: string): () => void {
    this.wanted.set(topic, (this.wanted.get(topic) ?? 0) + 1);
    this.want();
    return () => {
      const left = (this.wanted.get(topic) ?? 1) - 1;
      if (left > 0) this.wanted.set(topic, left);
      else this.wanted.delete(topic);
      this.want();
    };
  }

  /** Whether this tab watches a topic. */
  isWatched(topic: string): boolean {
    return this.wanted.has(topic);
  }

  /** Whether anybody sees this tab: one that nobody sees watches nothing. */
  show(isShown: boolean): void {
    this.isShown = isShown;
    this.want();
  }

  /** Called every few seconds: says what this tab watches, and forgets tabs that no longer say anything. */
  beat(): void {
    this.want();
  }

  /** Called when this tab closes. */
  leave(): void {
    this.channel.post({ say: "gone", tab: this.tab });
  }

  onEvent(receive: (event: LiveEvent) => void): () => void {
    this.receivers.add(receive);
    return () => this.receivers.delete(receive);
  }

  onState(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  private want(): void {
    const topics = this.isShown ? [...this.wanted.keys()].sort() : [];
    if (this.isLeader) {
      this.tabs.set(this.tab, { topics, at: Date.now() });
      this.reconnect();
    } else this.channel.post({ say: "want", tab: this.tab, topics });
  }

  private receive(message: Message): void {
    switch (message.say) {
      case "who":
        this.want();
        break;
      case "want":
        this.tabs.set(message.tab, { topics: message.topics, at: Date.now() });
        if (this.isLeader) this.reconnect();
        break;
      case "gone":
        this.tabs.delete(message.tab);
        if (this.isLeader) this.reconnect();
        break;
      case "event":
        this.deliver(message.event);
        break;
      case "state":
        this.become(message.state);
    }
  }

  private reconnect(): void {
    for (const [tab, { at }] of this.tabs) if (Date.now() - at > TAB_SILENT_MS_MAX) this.tabs.delete(tab);
    const topics = [...new Set([...this.tabs.values()].flatMap((each) => each.topics))].sort();
    if (topics.join() === this.connected) return;
    const before = this.connection;
    this.connected = topics.join();
    this.connection =
      topics.length === 0
        ? null
        : this.connect(
            topics,
            (event) => {
              this.channel.post({ say: "event", event });
              this.deliver(event);
            },
            (isLive) => {
              const state = { isLive, at: isLive ? Date.now() : this.state.at };
              this.channel.post({ say: "state", state });
              this.become(state);
            },
          );
    before?.close();
  }

  private deliver(event: LiveEvent): void {
    this.state = { ...this.state, at: Date.now() };
    for (const receive of this.receivers) receive(event);
  }

  private become(state: LiveState): void {
    const isChanged = state.isLive !== this.state.isLive;
    this.state = state;
    if (isChanged) for (const changed of this.watchers) changed();
  }
}

export { WANT_EVERY_MS };
