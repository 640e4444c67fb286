/**
 * The corrected cell that an answer proposes for an error.
 */
import type { Message, Part } from '../../protocol/generated';
import { blocks } from './markdownBlocks';
import { isPython, wholeListing } from './codeListing';

export interface IProposedFix {
  /** The id of the cell that failed. */
  cell: string;
  /** Its execution count then. */
  number: number | undefined;
  /** What it held when it failed. */
  source: string;
  /** The id of the part with the corrected cell. */
  part: string;
  code: string;
}

/**
 * Returns the first Python listing of an answer, and the cell that it is for; null if the prompt was not
 * about an error, or the answer proposes nothing.
 */
export function proposedFix(
  prompt: readonly Part[],
  answer: readonly Message[]
): IProposedFix | null {
  const cell = prompt.find(
    part => part.type === 'notebook' && part.about === 'error'
  );
  const failed = cell?.type === 'notebook' ? cell.cells[0] : undefined;
  if (failed?.cell_id === undefined || failed.source === undefined) {
    return null;
  }
  for (const { info, parts } of answer) {
    if (info.role !== 'assistant' || info.summary) {
      continue;
    }
    for (const part of parts) {
      const code = part.type === 'text' ? firstPython(part.text) : null;
      if (code !== null) {
        return {
          cell: failed.cell_id,
          number: failed.number,
          source: failed.source,
          part: part.id,
          code
        };
      }
    }
  }
  return null;
}

function firstPython(text: string): string | null {
  const { closed, open } = blocks(text);
  for (const block of [...closed, open]) {
    const listing = wholeListing(block);
    if (listing !== null && isPython(listing.language)) {
      return listing.code;
    }
  }
  return null;
}
