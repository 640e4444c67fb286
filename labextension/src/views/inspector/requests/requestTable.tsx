/** Every request with what was reported of it: the table beside the timeline. */
import { useMemo, type ReactNode } from 'react';
import type { NoteView, TimelineView } from '../../../protocol/generated';
import { count, durationText } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { money, usdDecimals } from '../../../state/inspector/labels';
import { wholeRange } from '../../../state/inspector/figures/rangeFigures';
import { useHost, type IWords } from '../../host';
import { useInspection, type IShownTrack } from '../controls/inspection';
import { PagedRows, type ITableColumn } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';
import { glossaryEntries } from '../glossary/glossary';
import { useReaderNotes } from '../notes/readerNotes';
import {
  marksByRequest,
  markWords,
  policyMarks,
  recordedMarks
} from '../timeline/trackMarks';
import { CompareBox, useComparedRequests } from './comparedRequests';

const NOT_KNOWN = '–';

interface INumberColumn extends IRequestColumn {
  readonly valueAt: (request: number) => number | null;
}

interface IWordColumn extends IRequestColumn {
  readonly foldedWords: (request: number) => string;
}

interface IRequestColumn extends ITableColumn {
  readonly cell: (request: number) => ReactNode;
}

/** Draws the page of the table that holds the cursor; two rows that are ticked are compared. */
export function RequestTable() {
  const { words } = useHost();
  const { view, shownTrack, recordedTrack, range } = useInspection();
  const { notes } = useReaderNotes();
  const { first: firstRequest, last: lastRequest } = range ?? wholeRange(view);
  const isRecorded = shownTrack === recordedTrack;
  const columns = useMemo(
    () => [
      ...numberColumns(view, shownTrack, isRecorded, words).map(column => ({
        ...column,
        valueAt: (row: number) => column.valueAt(firstRequest + row)
      })),
      ...wordColumns(view, shownTrack, isRecorded, words, notes).map(
        column => ({
          ...column,
          foldedWords: (row: number) => column.foldedWords(firstRequest + row)
        })
      )
    ],
    [view, shownTrack, isRecorded, firstRequest, words, notes]
  );
  const comparedRequests = useComparedRequests();
  const hasTwoRequests = view.requests.id.length > 1;
  const modelIndexes = new Set(view.requests.model);
  const firstModel = view.models[view.requests.model[0] ?? -1] ?? '';
  return (
    <>
      <PagedRows
        caption={words.__('Requests, %1', shownTrack.track.policy)}
        columns={[
          { ...REQUEST_COLUMN, head: words.__('request') },
          ...(hasTwoRequests
            ? [{ head: words.__('compare'), isHeadHidden: true }]
            : []),
          ...columns
        ]}
        rowCount={lastRequest - firstRequest + 1}
        foldedRemark={
          modelIndexes.size > 1
            ? words.__(
                'Where no model is named, it is %1.',
                modelName(view, commonestModel(view), words)
              )
            : ''
        }
        rowInView={
          Math.min(
            Math.max(comparedRequests.requestInView, firstRequest),
            lastRequest
          ) - firstRequest
        }
        cellsOf={row => [
          <RequestLink
            key="request"
            request={firstRequest + row}
            text={String(firstRequest + row + 1)}
          />,
          ...(hasTwoRequests
            ? [
                <CompareBox
                  key="compare"
                  request={firstRequest + row}
                  comparedRequests={comparedRequests}
                />
              ]
            : []),
          ...columns.map(({ cell }) => cell(firstRequest + row))
        ]}
      />
      {hasTwoRequests && (
        <p className="plm-Muted plm-CompareBox-words" role="status">
          {comparedRequests.sentence}
        </p>
      )}
      {modelIndexes.size === 1 && firstModel !== '' && (
        <p className="plm-Muted">
          <bdi>{words.__('All were sent to %1.', firstModel)}</bdi>
        </p>
      )}
    </>
  );
}

const REQUEST_COLUMN = {
  valueAt: (request: number) => request,
  isRowOrder: true
} as const;

/** Returns the columns of numbers, by each of which the rows can be sorted. */
function numberColumns(
  view: TimelineView,
  { track }: IShownTrack,
  isRecorded: boolean,
  words: IWords
): INumberColumn[] {
  const { requests } = view;
  const digits = [...requests.cost, ...track.cost].reduce(
    (most: number, value) =>
      value === null ? most : Math.max(most, usdDecimals(value)),
    0
  );
  const meaningByTerm = new Map(
    glossaryEntries(words).map(({ term, meaning }) => [term, meaning])
  );
  const lossByRequest = new Map(
    isRecorded ? view.breaks.map(({ request, loss }) => [request, loss]) : []
  );
  const secondsOf = (request: number) => {
    const [started, ended] = [
      requests.started[request],
      requests.ended[request]
    ];
    return typeof started === 'number' && typeof ended === 'number'
      ? Math.max(ended - started, 0) / 1000
      : null;
  };
  const numberColumn = (
    head: string,
    valueAt: (request: number) => number | null,
    toText: (value: number, request: number) => string = count
  ): INumberColumn => ({
    head,
    isNumber: true,
    valueAt,
    cell: request => {
      const value = valueAt(request);
      return value === null ? NOT_KNOWN : toText(value, request);
    }
  });
  return [
    numberColumn(
      words.__('cost'),
      request =>
        (isRecorded ? requests.cost[request] : track.cost[request]) ??
        (isRecorded ? null : 0),
      (value, request) =>
        money(
          value,
          view.price.unit,
          isRecorded && !(requests.listed[request] ?? false),
          digits
        )
    ),
    numberColumn(words.__('reported'), request =>
      isRecorded ? (requests.reported[request] ?? null) : null
    ),
    {
      ...(isRecorded
        ? numberColumn(
            words.__('read from cache'),
            request => requests.read[request] ?? null
          )
        : numberColumn(
            words.__('read from cache'),
            request => track.read[request] ?? 0,
            value => `~${count(value)}`
          )),
      meaning: meaningByTerm.get('read from cache')
    },
    ...(lossByRequest.size > 0
      ? [
          {
            ...numberColumn(
              words.__('written anew'),
              request => lossByRequest.get(request) ?? null
            ),
            meaning: meaningByTerm.get('written anew')
          }
        ]
      : []),
    numberColumn(words.__('counted'), request => track.total[request] ?? 0),
    numberColumn(
      words.__('answer'),
      request => requests.output[request] ?? null
    ),
    ...(requests.id.some((_, request) => secondsOf(request) !== null)
      ? [numberColumn(words.__('time'), secondsOf, durationText)]
      : [])
  ];
}

/** Returns the columns of words, without those that would say the same in each row. */
function wordColumns(
  view: TimelineView,
  { track }: IShownTrack,
  isRecorded: boolean,
  words: IWords,
  notes: readonly NoteView[]
): IWordColumn[] {
  const { requests } = view;
  const marksPerRequest = marksByRequest(
    isRecorded
      ? recordedMarks(view, words, notes)
      : policyMarks(track.fired, track.taken, words)
  );
  const marksOf = (request: number) =>
    (marksPerRequest.get(request) ?? [])
      .map(value => markWords(value, words))
      .join(', ');
  const commonestIndex = commonestModel(view);
  return [
    ...(requests.status.some(value => value !== 'ok')
      ? [
          {
            head: words.__('state'),
            cell: (request: number) => requests.status[request] ?? '',
            foldedWords: (request: number) => {
              const state = requests.status[request] ?? '';
              return state === 'ok' ? '' : state;
            }
          }
        ]
      : []),
    ...(marksPerRequest.size > 0
      ? [{ head: words.__('marks'), cell: marksOf, foldedWords: marksOf }]
      : []),
    ...(new Set(requests.model).size > 1
      ? [
          {
            head: words.__('model'),
            cell: (request: number) => (
              <bdi key="model" className="plm-Inspector-model">
                {view.models[requests.model[request] ?? -1] ?? ''}
              </bdi>
            ),
            foldedWords: (request: number) => {
              const model = requests.model[request] ?? -1;
              return model === commonestIndex
                ? ''
                : modelName(view, model, words);
            }
          }
        ]
      : [])
  ];
}

/** Returns the number of the model to which most requests were sent. */
function commonestModel({ requests }: TimelineView): number {
  const counts = new Map<number, number>();
  for (const model of requests.model) {
    counts.set(model, (counts.get(model) ?? 0) + 1);
  }
  const [commonest] = [...counts].sort(([, left], [, right]) => right - left);
  return commonest?.[0] ?? -1;
}

function modelName(view: TimelineView, model: number, words: IWords): string {
  return oneLine(view.models[model] ?? '') || words.__('not recorded');
}
