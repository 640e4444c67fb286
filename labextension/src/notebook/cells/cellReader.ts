/**
 * Reads what the cells of a notebook hold now, cut to what the kernel asked for.
 *
 * Of a cell that the user keeps from the agent only the id is read: nothing else of it leaves the page.
 */
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ReadCells } from '../../kernel/cellAnswers';
import type { CellsRequestNotice, PageCell } from '../../protocol/generated';
import { textOrEmpty } from '../../protocol/jsonValues';
import { isAgentCell } from '../../state/session/missingAnswers';
import { originOf } from './cellOrigins';
import { isHiddenCell } from './errorPrompts';

/** Characters of a source; the kernel's recorder keeps as many, cut in the same way. */
const MAX_SOURCE_CHARS = 40_000;
/** Characters of all sources, and of all outputs; what is beyond is left out. */
const MAX_ALL_CHARS = 400_000;
const MAX_OUTPUTS = 60;
const MAX_IMAGES = 4;
/** Characters of a picture in base64; a larger one is named only. */
const MAX_IMAGE_CHARS = 1_000_000;

const TEXTS = ['text/plain', 'text/markdown', 'text/latex', 'text/html'];
const IMAGES = ['image/png', 'image/jpeg'];

type RawOutput = Record<string, unknown>;

/** Returns a function that reads a notebook. */
export function cellReader(panel: NotebookPanel): ReadCells {
  return request => {
    const { model } = panel.context;
    const room = { sources: MAX_ALL_CHARS, outputs: MAX_ALL_CHARS };
    const cells: PageCell[] = [];
    for (const cell of model.cells) {
      if (request.cell === undefined || request.cell === cell.id) {
        cells.push(readCell(cell, request, room));
      }
    }
    return {
      path: panel.context.localPath,
      cells,
      deleted: [...model.deletedCells],
      visible: document.visibilityState === 'visible'
    };
  };
}

function readCell(
  model: ICellModel,
  request: CellsRequestNotice,
  room: { sources: number; outputs: number }
): PageCell {
  const cell = { id: model.id, kind: 'code', outputs: [], dropped: 0 };
  if (isHiddenCell(model)) {
    return { ...cell, hidden: true };
  }
  const fullSource = model.sharedModel.getSource();
  const source = cutMiddle(fullSource, MAX_SOURCE_CHARS);
  room.sources -= source.length;
  const pageCell: PageCell = {
    ...cell,
    kind: model.type,
    hidden: false,
    session: originOf(model.sharedModel)?.session
  };
  if (room.sources >= 0) {
    pageCell.source = source;
  }
  if (model.type !== 'code') {
    return pageCell;
  }
  const { executionCount, outputs } = model as ICodeCellModel;
  pageCell.number = executionCount ?? undefined;
  if (request.output_chars === 0 || isAgentCell(fullSource)) {
    return pageCell;
  }
  let images = request.images ? MAX_IMAGES : 0;
  const cutOutputs: RawOutput[] = [];
  for (let index = 0; index < outputs.length; index += 1) {
    if (index >= MAX_OUTPUTS || room.outputs <= 0) {
      pageCell.dropped = outputs.length - index;
      break;
    }
    const output = cutOutput(
      outputs.get(index).toJSON(),
      request.output_chars,
      images
    );
    images -= output.images;
    room.outputs -= output.chars;
    cutOutputs.push(output.output);
  }
  return { ...pageCell, outputs: cutOutputs };
}

/** Returns an output with its texts cut, pictures that fit, and the other MIME types without their data. */
function cutOutput(output: RawOutput, chars: number, most: number) {
  const cutOutputs: RawOutput = { ...output, metadata: undefined };
  let length = 0;
  let images = 0;
  const text = (value: unknown) => {
    const cut = cutMiddle(textOf(value), chars);
    length += cut.length;
    return cut;
  };
  if (cutOutputs.data !== undefined) {
    const data: RawOutput = {};
    for (const [mime, value] of Object.entries(cutOutputs.data as RawOutput)) {
      const picture = IMAGES.includes(mime) ? textOf(value) : '';
      const fits = images < most && picture.length <= MAX_IMAGE_CHARS;
      images += picture !== '' && fits ? 1 : 0;
      data[mime] = TEXTS.includes(mime) ? text(value) : fits ? picture : '';
    }
    cutOutputs.data = data;
  }
  if (cutOutputs.text !== undefined) {
    cutOutputs.text = text(cutOutputs.text);
  }
  if (cutOutputs.traceback !== undefined) {
    cutOutputs.traceback = [
      text((cutOutputs.traceback as string[]).join('\n'))
    ];
    cutOutputs.evalue = text(cutOutputs.evalue);
  }
  return { output: cutOutputs, chars: length, images };
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('') : textOrEmpty(value);
}

/** Leaves out the middle of a long text, counting characters as Python does. */
function cutMiddle(text: string, chars: number): string {
  if (text.length <= chars) {
    return text;
  }
  const characters = Array.from(text);
  const half = Math.floor(chars / 2);
  return characters.length <= chars
    ? text
    : `${characters.slice(0, half).join('')}\n[${characters.length - 2 * half} characters left out]\n${characters.slice(-half).join('')}`;
}
