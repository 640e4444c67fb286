/** Follows the outputs of the cell in which a widget stands, and finds those of the widget's turn among them. */
import type { OutputArea } from '@jupyterlab/outputarea';
import type { Widget } from '@lumino/widgets';
import {
  readSegment,
  SEGMENT_MIME,
  type ISegment
} from '../../protocol/segment';
import type { TurnOutputs } from '../../state/display/turnRows';
import type { IReadable } from '../../state/store/kernelStore';
import { ReaderSet } from '../../state/store/readerSet';

const NO_OUTPUTS: TurnOutputs = [];

/** Parsed outputs; the data of an output is replaced when it changes. */
const segmentsByData = new WeakMap<object, ISegment | null>();

/** The outputs of a cell, as far as the widget stands in one. */
export class CellOutputs implements IReadable<TurnOutputs> {
  private readonly _readers = new ReaderSet();
  private _model: OutputArea['model'] | null = null;
  private _outputs: TurnOutputs = NO_OUTPUTS;

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): TurnOutputs => this._outputs;

  /** Begins to follow the cell of a widget that was attached; an output is two levels below its cell's area. */
  attach(widget: Widget): void {
    const area = widget.parent?.parent;
    if (area?.hasClass('jp-OutputArea') === true && 'model' in area) {
      this._model = (area as OutputArea).model;
      this._model.changed.connect(this._readOutputs);
      this._readOutputs();
    }
  }

  detach(): void {
    this._model?.changed.disconnect(this._readOutputs);
    this._model = null;
  }

  private readonly _readOutputs = (): void => {
    const model = this._model;
    if (model === null || model.isDisposed) {
      return;
    }
    const segments = Array.from({ length: model.length }, (_, index) =>
      segmentOf(model.get(index).data[SEGMENT_MIME])
    );
    if (
      segments.length !== this._outputs.length ||
      segments.some((segment, index) => segment !== this._outputs[index])
    ) {
      this._outputs = segments;
      this._readers.notify();
    }
  };
}

/** Returns the outputs from the first segment of a turn to its last, and the place of one of them. */
export function outputsOfTurn(
  outputs: TurnOutputs,
  ownSegment: ISegment
): [outputs: TurnOutputs, place: number] {
  const isOfTurn = (segment: ISegment | null) =>
    segment !== null &&
    segment.session === ownSegment.session &&
    segment.turn === ownSegment.turn;
  const firstIndex = outputs.findIndex(isOfTurn);
  const turnOutputs =
    ownSegment.turn === '' || ownSegment.start === undefined || firstIndex < 0
      ? NO_OUTPUTS
      : outputs
          .slice(firstIndex, outputs.findLastIndex(isOfTurn) + 1)
          .map(segment => (isOfTurn(segment) ? segment : null));
  const index = turnOutputs.findIndex(
    segment =>
      segment !== null &&
      segment.start?.part === ownSegment.start?.part &&
      segment.start?.offset === ownSegment.start?.offset
  );
  // A segment stands alone until its cell is known; so does a segment of the first versions, which has no position.
  return index < 0 ? [[ownSegment], 0] : [turnOutputs, index];
}

function segmentOf(data: unknown): ISegment | null {
  if (typeof data !== 'object' || data === null) {
    return null;
  }
  const cached = segmentsByData.get(data);
  if (cached !== undefined) {
    return cached;
  }
  const segment = readSegment(data);
  segmentsByData.set(data, segment);
  return segment;
}
