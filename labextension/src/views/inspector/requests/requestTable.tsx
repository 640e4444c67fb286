/** Every request with what was reported of it: the table beside the timeline. */
import { useMemo } from 'react';
import { count } from '../../../state/text/numberFormat';
import { money, usdDigits } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { BreakableName } from '../controls/breakableName';
import { useInspection } from '../controls/inspection';
import { PagedRows } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';
import { useReaderNotes } from '../notes/readerNotes';
import {
  marksByRequest,
  markWords,
  policyMarks,
  recordedMarks
} from '../timeline/trackMarks';

/** Draws the page of the table that holds the cursor. */
export function RequestTable() {
  const { words } = useHost();
  const { view, shown, recorded, request } = useInspection();
  const { notes } = useReaderNotes();
  const { requests } = view;
  const isRecorded = shown === recorded;
  const countOrDash = (value: number | null | undefined) =>
    typeof value === 'number' ? count(value) : '–';
  // A column that says the same in each row is a sentence instead.
  const hasStates = requests.status.some(value => value !== 'ok');
  const hasModels = new Set(requests.model).size > 1;
  const marksAt = useMemo(
    () =>
      marksByRequest(
        isRecorded
          ? recordedMarks(view, words, notes)
          : policyMarks(shown.track.fired, shown.track.taken, words)
      ),
    [isRecorded, view, notes, shown.track, words]
  );
  const model = (place: number) =>
    view.models[requests.model[place] ?? -1] ?? '';
  const digits = useMemo(
    () =>
      [...requests.cost, ...shown.track.cost].reduce(
        (most: number, value) =>
          value === null ? most : Math.max(most, usdDigits(value)),
        0
      ),
    [requests, shown]
  );
  return (
    <>
      <PagedRows
        caption={words.__('Requests, %1', shown.track.policy)}
        heads={[
          words.__('request'),
          words.__('cost'),
          words.__('reported'),
          words.__('from cache'),
          words.__('counted'),
          words.__('answer'),
          ...(hasStates ? [words.__('state')] : []),
          ...(marksAt.size > 0 ? [words.__('marks')] : []),
          ...(hasModels ? [words.__('model')] : [])
        ]}
        numbersFrom={1}
        numbersUntil={6}
        count={requests.id.length}
        around={request}
        row={place => [
          <RequestLink
            key="request"
            request={place}
            text={String(place + 1)}
          />,
          isRecorded
            ? typeof requests.cost[place] === 'number'
              ? money(
                  requests.cost[place],
                  view.price.unit,
                  !(requests.listed[place] ?? false),
                  digits
                )
              : '–'
            : money(
                shown.track.cost[place] ?? 0,
                view.price.unit,
                false,
                digits
              ),
          isRecorded ? countOrDash(requests.reported[place]) : '–',
          isRecorded
            ? countOrDash(requests.read[place])
            : `~${count(shown.track.read[place] ?? 0)}`,
          count(shown.track.total[place] ?? 0),
          countOrDash(requests.output[place]),
          ...(hasStates ? [requests.status[place] ?? ''] : []),
          ...(marksAt.size > 0
            ? [
                (marksAt.get(place) ?? [])
                  .map(value => markWords(value, words))
                  .join(', ')
              ]
            : []),
          ...(hasModels
            ? [<BreakableName key="model" name={model(place)} />]
            : [])
        ]}
      />
      {!hasModels && model(0) !== '' && (
        <p className="plm-Muted">
          <bdi>{words.__('All were sent to %1.', model(0))}</bdi>
        </p>
      )}
    </>
  );
}
