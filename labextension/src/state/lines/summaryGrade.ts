/** Reads the grade of a summary from the numbers of its decision; a log is data, so nothing of it is trusted. */
import type { Decision } from '../../protocol/generated';
import { isObject, listOrEmpty } from '../../protocol/jsonValues';
import { oneLine } from '../text/oneLine';

export interface IGradedKind {
  /** Such as `paths`. */
  readonly kind: string;
  readonly foundCount: number;
  readonly lostCount: number;
  /** Some of the lost ones, those first that are likely to be needed. */
  readonly names: readonly string[];
  /** The number of names, from the first, that are likely to be needed. */
  readonly likelyCount: number;
}

const MAX_NAME_CHARS = 200;

/** Returns the kinds of names that a summary covers; empty where the decision holds no grade. */
export function gradeOf({ numbers }: Decision): readonly IGradedKind[] {
  const recordedGrades: unknown = numbers.retention;
  if (!isObject(recordedGrades)) {
    return [];
  }
  const gradedKinds: IGradedKind[] = [];
  for (const [kind, grade] of Object.entries(recordedGrades)) {
    if (isObject(grade) && countOrZero(grade.found) > 0) {
      gradedKinds.push({
        kind: oneLine(kind),
        foundCount: countOrZero(grade.found),
        lostCount: Math.min(countOrZero(grade.lost), countOrZero(grade.found)),
        names: [
          ...new Set(
            listOrEmpty(grade.names)
              .filter(name => typeof name === 'string')
              .map(name => oneLine(name.slice(0, MAX_NAME_CHARS)))
          )
        ],
        likelyCount: countOrZero(grade.likely)
      });
    }
  }
  return gradedKinds;
}

function countOrZero(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

/** Returns what stays as it is beside a summary: turns and their tokens, and parts that a person pinned. */
export function keptCounts({ numbers }: Decision): {
  turns: number;
  tokens: number;
  pinned: number;
} {
  const recordedCounts: unknown = numbers.kept;
  const { turns, tokens, pinned } = isObject(recordedCounts)
    ? recordedCounts
    : {};
  return {
    turns: countOrZero(turns),
    tokens: countOrZero(tokens),
    pinned: countOrZero(pinned)
  };
}
