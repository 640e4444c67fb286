/** Views and tracks of recorded sessions, as the kernel answers them (`tests/review/timeline_view/view_samples.py`). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type {
  CompactionText,
  TimelineView,
  TrackView,
  ViewPatch
} from '../../src/protocol/generated';

export interface ISample {
  view: TimelineView;
  tracks: TrackView[];
  compactions: CompactionText[];
  why: { item: number; request: number; words: string }[];
}

export const NAMES = ['pi', 'claude_code', 'swe_agent', 'cline'] as const;

const KNOWN = new Map<string, ISample>();

/** Returns the sample of a recording. */
export function sample(name: (typeof NAMES)[number]): ISample {
  let found = KNOWN.get(name);
  if (found === undefined) {
    found = read(name) as ISample;
    KNOWN.set(name, found);
  }
  return found;
}

export interface IGrownView {
  view: TimelineView;
  /** What differs from the view before; null for the first one. */
  patch: ViewPatch | null;
}

/** Returns views of a recording as it grew. */
export function grownViews(): IGrownView[] {
  return read('patches') as IGrownView[];
}

function read(name: string): unknown {
  const path = join(import.meta.dirname, 'samples', `${name}.json.gz`);
  return JSON.parse(gunzipSync(readFileSync(path)).toString());
}
