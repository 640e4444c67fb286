/**
 * What an agent's cell saves: a stretch of a turn that can be drawn without a kernel.
 */
import type { Ask, Message } from './generated';

export const SEGMENT_MIME = 'application/vnd.palimpsest.segment+json';

/** The newest form of a segment that this front end knows. */
export const SEGMENT_VERSION = 1;

export interface ISegment {
  version: number;
  session: string;
  turn: string;
  /** First and last journal record that the segment tells of. */
  seq: [number, number];
  /** More may come; false when the turn is over or an output of the cell follows. */
  open: boolean;
  messages: Message[];
  /** Questions that wait for a person. */
  asks?: Ask[];
}

/** Reads what a notebook holds; null when it is no segment at all. */
export function readSegment(data: unknown): ISegment | null {
  if (!isObject(data) || typeof data.version !== 'number') {
    return null;
  }
  const messages = Array.isArray(data.messages) ? data.messages : [];
  const [from, to] = Array.isArray(data.seq) ? (data.seq as unknown[]) : [];
  return {
    version: data.version,
    session: text(data.session),
    turn: text(data.turn),
    seq: [Number(from ?? 0), Number(to ?? 0)],
    open: data.open === true,
    messages: messages.filter(isMessage),
    asks: Array.isArray(data.asks) ? (data.asks as Ask[]) : []
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isMessage(value: unknown): value is Message {
  return isObject(value) && isObject(value.info) && Array.isArray(value.parts);
}
