/**
 * Simulated pages of one kernel: each connection of a page receives the kernel's notices in order, and
 * the connections are read in random order.
 */
import type {
  Message,
  Notice,
  SessionStateNotice,
  RecordsNotice,
  SessionHead
} from '../src/protocol/generated';
import { applyNotice } from '../src/state/store/reducer';
import { KernelStore, type KernelNotice } from '../src/state/store/kernelStore';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../src/state/store/transcript';
import {
  assistant,
  attached,
  messagesOf,
  ran,
  text,
  user,
  sessionHead
} from './builders';

/** As in ``frontends/page_channel/notices.py``. */
const NOTICE_CHARS = 250_000;
const BATCH = 40;

/** Returns a seeded random number generator. */
export function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** Returns an image of about this many characters, as in a log. */
function picture(size: number): string {
  return `data:image/png;base64,${'iVBORw0K'.repeat(Math.ceil(size / 8))}`;
}

/** The URL of a large image, which is stored as a blob beside the log. */
const BESIDE = `blob:${'a1'.repeat(32)}`;

/** Returns the log of a session of about this many characters: texts, calls, images and files. */
export function log(size: number, random: () => number): Notice[] {
  const told: Notice[] = [];
  const tell = (notice: object) => {
    const seq = told.length + 1;
    told.push({ v: 1, seq, ts: seq, ...notice } as Notice);
  };
  for (let written = 0, turn = 1; written < size; turn += 1) {
    const asked = user([]);
    const answer = assistant([]);
    const { id } = answer.info;
    const words = text('', { message_id: id });
    const brought = { message_id: asked.info.id };
    tell({ type: 'message.updated', info: asked.info });
    tell({
      type: 'message.part.updated',
      part: text(`Look at it, ${turn}. `, brought)
    });
    if (turn % 2 === 0) {
      tell({
        type: 'message.part.updated',
        part: attached(`bill-${turn}.png`, picture(random() * 4000), brought)
      });
      tell({
        type: 'message.part.updated',
        part: attached(`notes-${turn}.pdf`, 'data:,pages', brought)
      });
    }
    tell({ type: 'message.updated', info: answer.info });
    tell({ type: 'message.part.updated', part: words });
    for (let count = 0; count < 6; count += 1) {
      tell({
        type: 'message.part.delta',
        message_id: id,
        part_id: words.id,
        field: 'text',
        delta: `${turn * 10 + count} penguins, `
      });
    }
    const long = Math.ceil(random() * Math.min(size / 8, 400_000));
    const half = Math.ceil(long / 2);
    const made = ran(
      'python',
      { code: `df[${turn}]` },
      `${written} `.repeat(half / 8)
    );
    const state = {
      ...made.state,
      attachments: [
        { mime: 'image/png', url: picture(half), filename: `plot-${turn}.png` },
        { mime: 'image/png', url: BESIDE, filename: `map-${turn}.png` },
        { mime: 'text/csv', url: 'data:,a', filename: `rows-${turn}.csv` }
      ]
    };
    tell({
      type: 'message.part.updated',
      part: { ...made, state, message_id: id }
    });
    tell({
      type: 'message.part.updated',
      part: text(`So much for ${turn}.`, { message_id: id })
    });
    written += long;
  }
  return told;
}

export function fold(records: readonly Notice[]): ITranscript {
  return records.reduce(applyNotice, EMPTY_TRANSCRIPT);
}

/** A simulated kernel: one log, and answers to the pages' requests. */
export class Kernel {
  readonly written: Notice[] = [];
  readonly pages: Page[] = [];
  private _asked = 0;

  /** Numbered pieces and `after` fields are sent as by present kernels, or left out as by older ones. */
  constructor(
    private readonly _all: readonly Notice[],
    private readonly _numbers = true
  ) {}

  get head(): SessionHead {
    return sessionHead({ seq: this.written.length });
  }

  /** Writes the next records of the log, and sends them to watching pages. */
  write(count: number): void {
    const from = this.written.length;
    const next = this._all.slice(from, from + count);
    this.written.push(...next);
    for (let at = 0; at < next.length; at += BATCH) {
      this._publish({
        kind: 'records',
        session: 'ses_1',
        records: plain(next.slice(at, at + BATCH)),
        last: false
      });
    }
  }

  answer(after: number | null): void {
    this._asked += 1;
    const resync = `again-${this._asked}`;
    if (after === null) {
      this._pictures(resync);
      return;
    }
    const missed = this.written.slice(after);
    for (let at = 0; at <= missed.length; at += BATCH) {
      const batch = missed.slice(at, at + BATCH);
      const last = at + BATCH > missed.length;
      const follows = this._numbers ? { after: after + at } : {};
      const records = plain(batch);
      const told = { kind: 'records', session: 'ses_1', records } as const;
      this._publish({ ...told, resync, last, ...follows });
    }
  }

  private _pictures(resync: string): void {
    const pieces: Message[][] = [[]];
    let room = NOTICE_CHARS;
    for (const message of messagesOf(fold(this.written))) {
      const size = JSON.stringify(message).length;
      if (size > room && pieces.at(-1)?.length !== 0) {
        pieces.push([]);
        room = NOTICE_CHARS;
      }
      pieces.at(-1)?.push(message);
      room -= size;
    }
    pieces.forEach((piece, number) => {
      const notice: SessionStateNotice = {
        kind: 'session-state',
        session: 'ses_1',
        resync,
        seq: this.written.length,
        head: this.head,
        messages: piece,
        todos: [],
        inbox: [],
        replies: {},
        decisions: [],
        last: number === pieces.length - 1
      };
      this._publish(
        this._numbers
          ? { ...notice, piece: number, pieces: pieces.length }
          : notice
      );
    });
  }

  private _publish(notice: KernelNotice): void {
    this.pages.forEach(page => {
      page.hears(notice);
    });
  }
}

/** A page with several connections to a kernel, as after a reload. */
export class Page {
  readonly store: KernelStore;
  /** Runs a change of the page's state; replaced by a test that draws after each. */
  change = (run: () => void): void => {
    run();
  };
  private readonly _heard: KernelNotice[][];

  constructor(
    private readonly _kernel: Kernel,
    connections: number,
    private readonly _random: () => number
  ) {
    this._heard = Array.from({ length: connections }, () => []);
    this.store = new KernelStore(
      (_, after) => {
        this._kernel.answer(after);
      },
      () => undefined
    );
    _kernel.pages.push(this);
  }

  get transcript(): ITranscript | undefined {
    return this.store.getSnapshot().sessions.get('ses_1')?.transcript;
  }

  /** Greets the kernel, as a page does when it opens; requests what it lacks. */
  greet(): void {
    this.change(() => {
      this.store.updateHead(this._kernel.head, true);
    });
  }

  hears(notice: KernelNotice): void {
    this._heard.forEach(connection => connection.push(notice));
  }

  /** Drops received and unread notices, as when a connection ends. */
  loses(): void {
    this._heard.forEach(connection => connection.splice(0));
  }

  /** Reads some of the received notices, or all, including the answers to its own requests. */
  reads(count = Infinity): void {
    for (let left = count; left > 0 && this._waits(); left -= 1) {
      const waiting = this._heard.filter(({ length }) => length > 0);
      const next = Math.floor(this._random() * waiting.length);
      const notice = waiting[next]?.shift();
      if (notice !== undefined) {
        this.store.receive(notice);
      }
      if (this._random() < 0.5 || !this._waits()) {
        this._flush();
      }
    }
    this._flush();
  }

  private _flush(): void {
    this.change(() => {
      this.store.flush();
    });
  }

  private _waits(): boolean {
    return this._heard.some(({ length }) => length > 0);
  }
}

function plain(records: readonly Notice[]): RecordsNotice['records'] {
  return records as unknown as RecordsNotice['records'];
}
