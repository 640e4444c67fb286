/** Views and tracks of recorded sessions, as the kernel answers them (`tests/review/timeline_view/view_samples.py`). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { TimelineView, TrackView } from '../../src/protocol/generated';

export interface ISample {
  view: TimelineView;
  tracks: TrackView[];
  why: { item: number; request: number; words: string }[];
}

export const NAMES = ['pi', 'claude_code', 'swe_agent'] as const;

const KNOWN = new Map<string, ISample>();

/** Returns the sample of a recording. */
export function sample(name: (typeof NAMES)[number]): ISample {
  let found = KNOWN.get(name);
  if (found === undefined) {
    const path = join(import.meta.dirname, 'samples', `${name}.json.gz`);
    found = JSON.parse(gunzipSync(readFileSync(path)).toString()) as ISample;
    KNOWN.set(name, found);
  }
  return found;
}
