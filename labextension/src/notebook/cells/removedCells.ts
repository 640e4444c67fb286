/** Cells that the agent deleted: what the kernel is sent of them, and how they come back. */
import { JSONExt, type ReadonlyJSONValue } from '@lumino/coreutils';
import type { CellChange } from '../../protocol/generated';
import { isObject } from '../../protocol/jsonValues';
import type { SharedCell } from './cellOrigins';

/** Most characters of outputs, of all cells of one request together, that are sent to the kernel. */
const MAX_OUTPUT_CHARS = 200_000;

/** Characters of outputs that a page remembers; older ones are forgotten. */
const MAX_REMEMBERED_CHARS = 20_000_000;

type RawCell = Record<string, unknown>;

interface IRememberedCell {
  /** The cell as it was sent to the kernel. */
  sentCell: RawCell;
  /** The whole cell. */
  wholeCell: RawCell;
  chars: number;
}

/**
 * The cells that were deleted in this page.
 *
 * Responsibilities: leave out outputs that are too large for a message to the kernel, and bring back a whole cell, with
 * its trust, where the kernel asks for just the one that it was sent.
 */
export class RemovedCells {
  private readonly _cells = new Map<string, IRememberedCell>();

  /** Remembers cells that are about to be deleted; returns what the kernel is sent of each, by id. */
  remember(cells: readonly SharedCell[]): Map<string, RawCell> {
    let roomChars = MAX_OUTPUT_CHARS;
    const sentCells = new Map<string, RawCell>();
    for (const cell of cells) {
      const whole: RawCell = { ...cell.toJSON() };
      const chars = JSON.stringify(whole.outputs ?? []).length;
      const fits = chars <= roomChars;
      roomChars -= fits ? chars : 0;
      const sent = fits
        ? whole
        : { ...whole, outputs: [placeholderOutput(whole)] };
      sentCells.set(cell.id, sent);
      this._cells.delete(cell.id);
      this._cells.set(cell.id, { sentCell: sent, wholeCell: whole, chars });
    }
    let rememberedChars = 0;
    for (const [id, { chars }] of [...this._cells].reverse()) {
      rememberedChars += chars;
      if (rememberedChars > MAX_REMEMBERED_CHARS) {
        this._cells.delete(id);
      }
    }
    return sentCells;
  }

  /** Returns what this page remembers of a cell. */
  rememberedCell(id: string): IRememberedCell | undefined {
    return this._cells.get(id);
  }
}

/** Returns the output that stands for outputs which are not kept. */
function placeholderOutput({ outputs }: RawCell): RawCell {
  const count = Array.isArray(outputs) ? outputs.length : 0;
  return {
    output_type: 'stream',
    name: 'stderr',
    text: `${count === 1 ? 'The output' : `The ${count} outputs`} of this cell, which the agent deleted, took too much space to be kept.\n`
  };
}

/**
 * Returns metadata, attachments and outputs of a cell that is brought back; null where there is none.
 *
 * It is trusted only if this page deleted it as a trusted one: what a recorded session says of it may be forged.
 */
export function restoredCell(
  receivedCell: RawCell | undefined,
  kind: CellChange['kind'],
  remembered: IRememberedCell | undefined
): RawCell | null {
  if (receivedCell === undefined) {
    return null;
  }
  const isFromThisPage =
    remembered !== undefined &&
    JSONExt.deepEqual(
      receivedCell as ReadonlyJSONValue,
      remembered.sentCell as ReadonlyJSONValue
    );
  const { metadata, attachments, outputs, execution_count } = isFromThisPage
    ? remembered.wholeCell
    : receivedCell;
  const { trusted: wasTrusted, ...otherMetadata } = isObject(metadata)
    ? metadata
    : {};
  if (kind !== 'code') {
    return {
      metadata: otherMetadata,
      ...(isObject(attachments) ? { attachments } : {})
    };
  }
  const validOutputs = Array.isArray(outputs) ? outputs.filter(isOutput) : [];
  const isTrusted =
    validOutputs.length === 0 || (isFromThisPage && wasTrusted === true);
  return {
    metadata: isTrusted
      ? { ...otherMetadata, trusted: isTrusted }
      : otherMetadata,
    outputs: validOutputs,
    execution_count:
      typeof execution_count === 'number' ? execution_count : null
  };
}

function isOutput(value: unknown): value is RawCell {
  return isObject(value) && OUTPUT_TYPES.has(value.output_type);
}

const OUTPUT_TYPES = new Set<unknown>([
  'stream',
  'display_data',
  'execute_result',
  'error'
]);
