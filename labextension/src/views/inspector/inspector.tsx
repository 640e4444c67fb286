/**
 * The inspector: a session's context over all its requests, and what other policies would have sent.
 */
import { useEffect, useState } from 'react';
import type { TimelineView } from '../../protocol/generated';
import { count } from '../../state/display/numberFormat';
import type {
  IInspectorPlace,
  IInspectorSource
} from '../../state/inspector/source';
import { useHost } from '../host';

interface IInspectorProps {
  source: IInspectorSource;
  place?: IInspectorPlace;
  onPlace?: (place: IInspectorPlace) => void;
  openLink?: (link: string) => void;
}

/** Draws a session's title, its totals, and a row for each request. */
export function Inspector({ source, place, onPlace }: IInspectorProps) {
  const { words } = useHost();
  const [view, setView] = useState<TimelineView | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    void source.ask({ ask: 'view' }).then(answer => {
      setView(answer.view ?? null);
      setError(answer.error);
    });
  }, [source]);
  if (view === null) {
    return <p role="status">{error || words.__('Reading the session…')}</p>;
  }
  return (
    <div className="plm-Inspector">
      <h2>{view.title}</h2>
      {view.totals.map(one => (
        <p key={one}>{one}</p>
      ))}
      <table>
        <tbody>
          {view.recorded.total.map((tokens, request) => (
            <tr key={request} aria-current={place?.request === request}>
              <th scope="row">
                <button
                  type="button"
                  onClick={() => {
                    onPlace?.({ request, item: null });
                  }}
                >
                  {words.__('Request %1', request + 1)}
                </button>
              </th>
              <td>{count(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
