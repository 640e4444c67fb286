/** The project's sessions: create, search, open, rename and archive them. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { OutlinedButton } from '../controls/buttons';
import { TickBox } from '../controls/fields';
import { useHost, type IWords } from '../host';
import { ImportDialog } from './importExport';
import { useSessionActions, type ISessionPage } from '../actions/sessions';
import { useSharingActionsIfOffered } from '../actions/sharing';
import { SessionItem } from './sessionItem';
import { onEscape, runAfter, useFirstFocus } from '../dom/effects';

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
  const first = useFirstFocus<HTMLButtonElement>();
  const [searched, setSearched] = useState('');
  const [isArchived, setArchived] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const importButton = useRef<HTMLButtonElement>(null);
  const { page, more, again } = useList(searched, isArchived, current);
  return (
    <section
      className="plm-Sessions"
      aria-label={words.__('Sessions')}
      onKeyDown={onEscape(onClose)}
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
            ref={importButton}
            className="plm-Button"
            aria-expanded={isImporting}
            onClick={() => {
              setImporting(!isImporting);
            }}
          >
            {words.__('Import')}
          </button>
        )}
        <TickBox
          className="plm-Sessions-archived"
          isTicked={isArchived}
          onTick={setArchived}
        >
          {words.__('Archived')}
        </TickBox>
      </div>
      {isImporting && sharing !== null && (
        <ImportDialog
          onBack={() => {
            setImporting(false);
            importButton.current?.focus();
          }}
          onChanged={again}
        />
      )}
      <input
        type="search"
        className="plm-Field"
        aria-label={words.__('Find sessions by title and prompts')}
        placeholder={words.__('Find by title and prompts')}
        value={searched}
        onChange={event => {
          setSearched(event.target.value);
        }}
      />
      <p className="plm-Sessions-count plm-Muted" role="status">
        {count(page, searched, isArchived, words)}
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
        <OutlinedButton onClick={more}>{words.__('Show more')}</OutlinedButton>
      )}
    </section>
  );
}

/** Milliseconds without a key before a search begins. */
const PAUSE_MS = 200;

interface IList {
  page: ISessionPage | null;
  /** Fetches the next page; null if there is none. */
  more: (() => void) | null;
  /** Requests the list again. */
  again: () => void;
}

/** Returns the sessions; they are requested again when another one is shown, which may be new, such as a fork. */
function useList(
  searched: string,
  isArchived: boolean,
  current: string
): IList {
  const sessions = useSessionActions();
  const [page, setPage] = useState<ISessionPage | null>(null);
  const [requests, setRequests] = useState(0);
  const queryNumber = useRef(0);
  useEffect(() => {
    const number = ++queryNumber.current;
    const take = (nextPage: ISessionPage) => {
      if (number === queryNumber.current) {
        setPage(nextPage);
      }
    };
    return runAfter(searched === '' ? 0 : PAUSE_MS, () => {
      sessions
        .list({ words: searched, archived: isArchived })
        .then(take, () => {
          take({ rows: [], total: 0 });
        });
    });
  }, [sessions, searched, isArchived, current, requests]);
  const again = useCallback(() => {
    setRequests(before => before + 1);
  }, []);
  const cursor = page?.cursor;
  if (page === null || cursor === undefined) {
    return { page, more: null, again };
  }
  const more = () => {
    const number = queryNumber.current;
    void sessions
      .list({ words: searched, archived: isArchived, cursor })
      .then(nextPage => {
        if (number === queryNumber.current) {
          setPage({ ...nextPage, rows: [...page.rows, ...nextPage.rows] });
        }
      });
  };
  return { page, more, again };
}

/** Returns the number of results, announced to screen readers during a search. */
function count(
  page: ISessionPage | null,
  searched: string,
  isArchived: boolean,
  words: IWords
): string {
  if (page === null) {
    return words.__('Looking for sessions…');
  }
  if (page.total > 0) {
    return words._n('%1 session', '%1 sessions', page.total);
  }
  if (searched.trim() !== '') {
    return words.__('No session holds these words.');
  }
  return isArchived
    ? words.__('No session is archived.')
    : words.__('There is no session yet.');
}
