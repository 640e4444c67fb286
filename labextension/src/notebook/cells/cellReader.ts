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

const TEXT_MIME_TYPES = [
  'text/plain',
  'text/markdown',
  'text/latex',
  'text/html'
];
const IMAGE_MIME_TYPES = ['image/png', 'image/jpeg'];

type RawOutput = Record<string, unknown>;

/** Returns a function that reads a notebook. */
export function cellReader(panel: NotebookPanel): ReadCells {
  return request => {
    const { model } = panel.context;
    const roomChars = { sources: MAX_ALL_CHARS, outputs: MAX_ALL_CHARS };
    const cells: PageCell[] = [];
    for (const cell of model.cells) {
      if (request.cell === undefined || request.cell === cell.id) {
        cells.push(readCell(cell, request, roomChars));
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
  roomChars: { sources: number; outputs: number }
): PageCell {
  const cell = { id: model.id, kind: 'code', outputs: [], dropped: 0 };
  if (isHiddenCell(model)) {
    return { ...cell, hidden: true };
  }
  const fullSource = model.sharedModel.getSource();
  const source = cutMiddle(fullSource, MAX_SOURCE_CHARS);
  roomChars.sources -= source.length;
  const pageCell: PageCell = {
    ...cell,
    kind: model.type,
    hidden: false,
    session: originOf(model.sharedModel)?.session
  };
  if (roomChars.sources >= 0) {
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
  let imagesLeft = request.images ? MAX_IMAGES : 0;
  const cutOutputs: RawOutput[] = [];
  for (let index = 0; index < outputs.length; index += 1) {
    if (index >= MAX_OUTPUTS || roomChars.outputs <= 0) {
      pageCell.dropped = outputs.length - index;
      break;
    }
    const cut = cutOutput(
      outputs.get(index).toJSON(),
      request.output_chars,
      imagesLeft
    );
    imagesLeft -= cut.images;
    roomChars.outputs -= cut.chars;
    cutOutputs.push(cut.output);
  }
  return { ...pageCell, outputs: cutOutputs };
}

/** Returns an output with its texts cut, pictures that fit, and the other MIME types without their data. */
function cutOutput(output: RawOutput, maxChars: number, maxImages: number) {
  const newOutput: RawOutput = { ...output, metadata: undefined };
  let textChars = 0;
  let imageCount = 0;
  const addText = (value: unknown) => {
    const cut = cutMiddle(textOf(value), maxChars);
    textChars += cut.length;
    return cut;
  };
  if (newOutput.data !== undefined) {
    const data: RawOutput = {};
    for (const [mime, value] of Object.entries(newOutput.data as RawOutput)) {
      const image = IMAGE_MIME_TYPES.includes(mime) ? textOf(value) : '';
      const fits = imageCount < maxImages && image.length <= MAX_IMAGE_CHARS;
      imageCount += image !== '' && fits ? 1 : 0;
      data[mime] = TEXT_MIME_TYPES.includes(mime)
        ? addText(value)
        : fits
          ? image
          : '';
    }
    newOutput.data = data;
  }
  if (newOutput.text !== undefined) {
    newOutput.text = addText(newOutput.text);
  }
  if (newOutput.traceback !== undefined) {
    newOutput.traceback = [
      addText((newOutput.traceback as string[]).join('\n'))
    ];
    newOutput.evalue = addText(newOutput.evalue);
  }
  return { output: newOutput, chars: textChars, images: imageCount };
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('') : textOrEmpty(value);
}

/** Leaves out the middle of a long text, counting characters as Python does. */
function cutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return text;
  }
  const characters = Array.from(text);
  const half = Math.floor(maxChars / 2);
  return characters.length <= maxChars
    ? text
    : `${characters.slice(0, half).join('')}\n[${characters.length - 2 * half} characters left out]\n${characters.slice(-half).join('')}`;
}
