/**
 * Follows the outputs of the cell in which a widget stands, and finds those of the widget's turn among them.
 */
import type { OutputArea } from '@jupyterlab/outputarea';
import type { Widget } from '@lumino/widgets';
import {
  readSegment,
  SEGMENT_MIME,
  type ISegment
} from '../../protocol/segment';
import type { TurnOutputs } from '../../state/display/turnRows';
import type { IReadable } from '../../state/store/kernelStore';

const NONE: TurnOutputs = [];

/** Parsed outputs; the data of an output is replaced when it changes. */
const parsed = new WeakMap<object, ISegment | null>();

/** The outputs of a cell, as far as the widget stands in one. */
export class CellOutputs implements IReadable<TurnOutputs> {
  private readonly _readers = new Set<() => void>();
  private _model: OutputArea['model'] | null = null;
  private _outputs: TurnOutputs = NONE;

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  readonly getSnapshot = (): TurnOutputs => this._outputs;

  /** Begins to follow the cell of a widget that was attached; an output is two levels below its cell's area. */
  attach(widget: Widget): void {
    const area = widget.parent?.parent;
    if (area?.hasClass('jp-OutputArea') === true && 'model' in area) {
      this._model = (area as OutputArea).model;
      this._model.changed.connect(this._read);
      this._read();
    }
  }

  detach(): void {
    this._model?.changed.disconnect(this._read);
    this._model = null;
  }

  private readonly _read = (): void => {
    const model = this._model;
    if (model === null || model.isDisposed) {
      return;
    }
    const now = Array.from({ length: model.length }, (_, index) =>
      segmentOf(model.get(index).data[SEGMENT_MIME])
    );
    if (
      now.length !== this._outputs.length ||
      now.some((segment, index) => segment !== this._outputs[index])
    ) {
      this._outputs = now;
      [...this._readers].forEach(changed => {
        changed();
      });
    }
  };
}

/** Returns the outputs from the first segment of a turn to its last, and the place of one of them. */
export function outputsOfTurn(
  outputs: TurnOutputs,
  own: ISegment
): [outputs: TurnOutputs, place: number] {
  const isOfTurn = (segment: ISegment | null) =>
    segment !== null &&
    segment.session === own.session &&
    segment.turn === own.turn;
  const from = outputs.findIndex(isOfTurn);
  const found =
    own.turn === '' || own.start === undefined || from < 0
      ? NONE
      : outputs
          .slice(from, outputs.findLastIndex(isOfTurn) + 1)
          .map(segment => (isOfTurn(segment) ? segment : null));
  const place = found.findIndex(
    segment =>
      segment !== null &&
      segment.start?.part === own.start?.part &&
      segment.start?.offset === own.start?.offset
  );
  // Until its cell is known a segment stands alone; so does one of the first versions, which tells no place.
  return place < 0 ? [[own], 0] : [found, place];
}

function segmentOf(data: unknown): ISegment | null {
  if (typeof data !== 'object' || data === null) {
    return null;
  }
  const known = parsed.get(data);
  if (known !== undefined) {
    return known;
  }
  const segment = readSegment(data);
  parsed.set(data, segment);
  return segment;
}
