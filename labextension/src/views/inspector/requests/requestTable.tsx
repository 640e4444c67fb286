/** Every request with what was reported of it: the table beside the timeline. */
import { count } from '../../../state/display/numberFormat';
import { money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { PagedRows } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';

/** Draws the page of the table that holds the cursor. */
export function RequestTable() {
  const { words } = useHost();
  const { view, shown, recorded, request } = useInspection();
  const { requests } = view;
  const isRecorded = shown === recorded;
  const known = (value: number | null | undefined) =>
    typeof value === 'number' ? count(value) : '–';
  return (
    <PagedRows
      caption={words.__('Requests, %1', shown.track.policy)}
      heads={[
        words.__('request'),
        words.__('model'),
        words.__('state'),
        words.__('counted'),
        words.__('reported'),
        words.__('from cache'),
        words.__('answer'),
        words.__('cost')
      ]}
      numbersFrom={3}
      count={requests.id.length}
      around={request}
      row={place => [
        <RequestLink key="request" request={place} text={String(place + 1)} />,
        <bdi key="model">{view.models[requests.model[place] ?? -1] ?? ''}</bdi>,
        requests.status[place] ?? '',
        count(shown.track.total[place] ?? 0),
        isRecorded ? known(requests.reported[place]) : '–',
        isRecorded
          ? known(requests.read[place])
          : `~${count(shown.track.read[place] ?? 0)}`,
        known(requests.output[place]),
        isRecorded && typeof requests.cost[place] === 'number'
          ? money(requests.cost[place], 'USD')
          : `~${money(shown.track.cost[place] ?? 0, view.price.unit)}`
      ]}
    />
  );
}
