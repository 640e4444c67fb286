/**
 * The project's sessions: create, search, open, rename and archive them.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import { useHost, type IWords } from '../host';
import { ImportDialog } from './importExport';
import { useSessionActions, type ISessionPage } from '../actions/sessions';
import { useSharingActionsIfOffered } from '../actions/sharing';
import { SessionItem } from './sessionItem';

interface ISessionListProps {
  /** Id of the session that is shown. */
  current: string;
  onClose: () => void;
  /** Called when the user chose a session and wants to write in it. */
  onChosen: () => void;
}

/** Draws the list; it is requested again each time it opens, and while the user searches. */
export function SessionList({ current, onClose, onChosen }: ISessionListProps) {
  const { words } = useHost();
  const sessions = useSessionActions();
  const sharing = useSharingActionsIfOffered();
  const first = useRef<HTMLButtonElement>(null);
  const [wanted, setWanted] = useState('');
  const [away, setAway] = useState(false);
  const [bringing, setBringing] = useState(false);
  const brings = useRef<HTMLButtonElement>(null);
  const { page, more, again } = useList(wanted, away, current);
  useEffect(() => {
    first.current?.focus();
  }, []);
  return (
    <section
      className="plm-Sessions"
      aria-label={words.__('Sessions')}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <div className="plm-Sessions-tools">
        <button
          type="button"
          ref={first}
          className="plm-Button"
          onClick={() => {
            sessions.create();
            onChosen();
          }}
        >
          {words.__('New session')}
        </button>
        {sharing !== null && (
          <button
            type="button"
            ref={brings}
            className="plm-Button"
            aria-expanded={bringing}
            onClick={() => {
              setBringing(!bringing);
            }}
          >
            {words.__('Import')}
          </button>
        )}
        <label className="plm-Sessions-archived">
          <input
            type="checkbox"
            checked={away}
            onChange={event => {
              setAway(event.target.checked);
            }}
          />
          {words.__('Archived')}
        </label>
      </div>
      {bringing && sharing !== null && (
        <ImportDialog
          onBack={() => {
            setBringing(false);
            brings.current?.focus();
          }}
          onChanged={again}
        />
      )}
      <input
        type="search"
        className="plm-Field"
        aria-label={words.__('Find sessions by title and prompts')}
        placeholder={words.__('Find by title and prompts')}
        value={wanted}
        onChange={event => {
          setWanted(event.target.value);
        }}
      />
      <p className="plm-Sessions-count plm-Muted" role="status">
        {counted(page, wanted, away, words)}
      </p>
      <ul>
        {(page?.rows ?? []).map(row => (
          <SessionItem
            key={row.id}
            row={row}
            isCurrent={row.id === current}
            onChosen={onChosen}
            onChanged={again}
          />
        ))}
      </ul>
      {more !== null && (
        <button type="button" className="plm-Button" onClick={more}>
          {words.__('Show more')}
        </button>
      )}
    </section>
  );
}

/** Milliseconds without a key before a search begins. */
const PAUSE = 200;

interface IList {
  page: ISessionPage | null;
  /** Fetches the next page; null if there is none. */
  more: (() => void) | null;
  /** Requests the list again. */
  again: () => void;
}

/** Returns the sessions; they are requested again when another one is shown, which may be new, such as a fork. */
function useList(wanted: string, away: boolean, current: string): IList {
  const sessions = useSessionActions();
  const [page, setPage] = useState<ISessionPage | null>(null);
  const [turn, setTurn] = useState(0);
  const asked = useRef(0);
  useEffect(() => {
    const mine = ++asked.current;
    const take = (found: ISessionPage) => {
      if (mine === asked.current) {
        setPage(found);
      }
    };
    const timer = setTimeout(
      () => {
        sessions.list({ words: wanted, archived: away }).then(take, () => {
          take({ rows: [], total: 0 });
        });
      },
      wanted === '' ? 0 : PAUSE
    );
    return () => {
      clearTimeout(timer);
    };
  }, [sessions, wanted, away, current, turn]);
  const again = useCallback(() => {
    setTurn(before => before + 1);
  }, []);
  const cursor = page?.cursor;
  if (page === null || cursor === undefined) {
    return { page, more: null, again };
  }
  const more = () => {
    const mine = asked.current;
    void sessions
      .list({ words: wanted, archived: away, cursor })
      .then(found => {
        if (mine === asked.current) {
          setPage({ ...found, rows: [...page.rows, ...found.rows] });
        }
      });
  };
  return { page, more, again };
}

/** Returns the number of results, announced to screen readers during a search. */
function counted(
  page: ISessionPage | null,
  wanted: string,
  away: boolean,
  words: IWords
): string {
  if (page === null) {
    return words.__('Looking for sessions…');
  }
  if (page.total > 0) {
    return words._n('%1 session', '%1 sessions', page.total, page.total);
  }
  if (wanted.trim() !== '') {
    return words.__('No session holds these words.');
  }
  return away
    ? words.__('No session is archived.')
    : words.__('There is no session yet.');
}
