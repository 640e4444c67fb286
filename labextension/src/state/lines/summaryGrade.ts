/** Reads the grade of a summary from the numbers of its decision; a log is data, so nothing of it is trusted. */
import type { Decision } from '../../protocol/generated';
import { isObject, listOrEmpty } from '../../protocol/jsonValues';
import { oneLine } from '../text/oneLine';

export interface IGradedKind {
  /** Such as `paths`. */
  readonly kind: string;
  readonly found: number;
  readonly lost: number;
  /** Some of the lost ones, those first that are likely to be needed. */
  readonly names: readonly string[];
  /** The number of names, from the first, that are likely to be needed. */
  readonly likely: number;
}

const MAX_NAME_CHARS = 200;

/** Returns the kinds of names that a summary covers; empty where the decision holds no grade. */
export function gradeOf({ numbers }: Decision): readonly IGradedKind[] {
  const recorded: unknown = numbers.retention;
  if (!isObject(recorded)) {
    return [];
  }
  const graded: IGradedKind[] = [];
  for (const [kind, grade] of Object.entries(recorded)) {
    if (isObject(grade) && countOf(grade.found) > 0) {
      graded.push({
        kind: oneLine(kind),
        found: countOf(grade.found),
        lost: Math.min(countOf(grade.lost), countOf(grade.found)),
        names: [
          ...new Set(
            listOrEmpty(grade.names)
              .filter(name => typeof name === 'string')
              .map(name => oneLine(name.slice(0, MAX_NAME_CHARS)))
          )
        ],
        likely: countOf(grade.likely)
      });
    }
  }
  return graded;
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

/** Returns what stays as it is beside a summary: turns and their tokens, and parts that a person pinned. */
export function keptBeside({ numbers }: Decision): {
  turns: number;
  tokens: number;
  pinned: number;
} {
  const recorded: unknown = numbers.kept;
  const { turns, tokens, pinned } = isObject(recorded) ? recorded : {};
  return {
    turns: countOf(turns),
    tokens: countOf(tokens),
    pinned: countOf(pinned)
  };
}
