/** The corrected cell that an answer proposes for an error. */
import type { Message, Part } from '../../protocol/generated';
import { markdownBlocks } from '../text/markdownBlocks';
import { isPython, wholeListing } from '../text/codeListing';

export interface IProposedFix {
  /** The id of the cell that failed. */
  cellId: string;
  /** Its execution count then. */
  executionCount: number | undefined;
  /** Its source when it failed. */
  source: string;
  /** The id of the part with the corrected cell. */
  partId: string;
  code: string;
  /** Whether little of the cell is left in it, so that it is hardly a correction. */
  isVeryDifferent: boolean;
}

/** The share of a cell's pairs of letters that a correction keeps; a listing with less is another code, or a piece. */
const MIN_KEPT_SHARE = 0.5;

/**
 * Returns the first Python listing of an answer that is much like the cell that failed, else its first one; null
 * if the prompt was not about an error, or the answer proposes nothing.
 */
export function proposedFix(
  prompt: readonly Part[],
  answer: readonly Message[]
): IProposedFix | null {
  const notebookPart = prompt.find(
    part => part.type === 'notebook' && part.about === 'error'
  );
  const failedCell =
    notebookPart?.type === 'notebook' ? notebookPart.cells[0] : undefined;
  if (failedCell?.cell_id === undefined || failedCell.source === undefined) {
    return null;
  }
  const { cell_id, number, source } = failedCell;
  const fixes = answer.flatMap(({ info, parts }) =>
    info.role !== 'assistant' || info.summary
      ? []
      : parts.flatMap(part =>
          part.type === 'text'
            ? pythonListings(part.text).map(code => ({
                cellId: cell_id,
                executionCount: number,
                source,
                partId: part.id,
                code,
                isVeryDifferent: keptShare(source, code) < MIN_KEPT_SHARE
              }))
            : []
        )
  );
  return (
    fixes.find(({ isVeryDifferent }) => !isVeryDifferent) ?? fixes[0] ?? null
  );
}

function pythonListings(text: string): string[] {
  const { closedBlocks, openBlock } = markdownBlocks(text);
  return [...closedBlocks, openBlock].flatMap(block => {
    const listing = wholeListing(block);
    return listing !== null && isPython(listing.language) ? [listing.code] : [];
  });
}

/** Returns the share of the pairs of letters in one text that another has, too, without regard to spaces. */
function keptShare(sourceBefore: string, sourceAfter: string): number {
  const afterCounts = new Map<string, number>();
  for (const pair of letterPairs(sourceAfter)) {
    afterCounts.set(pair, (afterCounts.get(pair) ?? 0) + 1);
  }
  const beforePairs = letterPairs(sourceBefore);
  const commonPairs = beforePairs.filter(pair => {
    const remaining = afterCounts.get(pair) ?? 0;
    afterCounts.set(pair, remaining - 1);
    return remaining > 0;
  });
  return beforePairs.length === 0 ? 1 : commonPairs.length / beforePairs.length;
}

function letterPairs(text: string): string[] {
  const letters = Array.from(text.replace(/\s+/g, ''));
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}
