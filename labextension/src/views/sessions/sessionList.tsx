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
  currentId: string;
  onClose: () => void;
  /** Called when the user chose a session and wants to write in it. */
  onChosen: () => void;
}

/** Draws the list; it is requested again each time it opens, and while the user searches. */
export function SessionList({
  currentId,
  onClose,
  onChosen
}: ISessionListProps) {
  const { words } = useHost();
  const sessions = useSessionActions();
  const sharing = useSharingActionsIfOffered();
  const firstButtonRef = useFirstFocus<HTMLButtonElement>();
  const [query, setQuery] = useState('');
  const [showsArchived, setShowsArchived] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const importButton = useRef<HTMLButtonElement>(null);
  const { page, fetchMore, reload } = useSessionPage(
    query,
    showsArchived,
    currentId
  );
  return (
    <section
      className="plm-Sessions"
      aria-label={words.__('Sessions')}
      onKeyDown={onEscape(onClose)}
    >
      <div className="plm-Sessions-tools">
        <button
          type="button"
          ref={firstButtonRef}
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
          isTicked={showsArchived}
          onTick={setShowsArchived}
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
          onChanged={reload}
        />
      )}
      <input
        type="search"
        className="plm-Field"
        aria-label={words.__('Find sessions by title and prompts')}
        placeholder={words.__('Find by title and prompts')}
        value={query}
        onChange={event => {
          setQuery(event.target.value);
        }}
      />
      <p className="plm-Sessions-count plm-Muted" role="status">
        {countText(page, query, showsArchived, words)}
      </p>
      <ul>
        {(page?.rows ?? []).map(row => (
          <SessionItem
            key={row.id}
            row={row}
            isCurrent={row.id === currentId}
            onChosen={onChosen}
            onChanged={reload}
          />
        ))}
      </ul>
      {fetchMore !== null && (
        <OutlinedButton onClick={fetchMore}>
          {words.__('Show more')}
        </OutlinedButton>
      )}
    </section>
  );
}

/** Milliseconds without a key before a search begins. */
const SEARCH_DELAY_MS = 200;

interface ISessionListPage {
  page: ISessionPage | null;
  /** Fetches the next page; null if there is none. */
  fetchMore: (() => void) | null;
  /** Requests the list again. */
  reload: () => void;
}

/** Returns the sessions; they are requested again when another one is shown, which may be new, such as a fork. */
function useSessionPage(
  query: string,
  showsArchived: boolean,
  currentId: string
): ISessionListPage {
  const sessions = useSessionActions();
  const [page, setPage] = useState<ISessionPage | null>(null);
  const [reloadCount, setReloadCount] = useState(0);
  const newestQuery = useRef(0);
  useEffect(() => {
    const queryNumber = ++newestQuery.current;
    const showPage = (nextPage: ISessionPage) => {
      if (queryNumber === newestQuery.current) {
        setPage(nextPage);
      }
    };
    return runAfter(query === '' ? 0 : SEARCH_DELAY_MS, () => {
      sessions
        .list({ words: query, archived: showsArchived })
        .then(showPage, () => {
          showPage({ rows: [], total: 0 });
        });
    });
  }, [sessions, query, showsArchived, currentId, reloadCount]);
  const reload = useCallback(() => {
    setReloadCount(count => count + 1);
  }, []);
  const cursor = page?.cursor;
  if (page === null || cursor === undefined) {
    return { page, fetchMore: null, reload };
  }
  const fetchMore = () => {
    const queryNumber = newestQuery.current;
    void sessions
      .list({ words: query, archived: showsArchived, cursor })
      .then(nextPage => {
        if (queryNumber === newestQuery.current) {
          setPage({ ...nextPage, rows: [...page.rows, ...nextPage.rows] });
        }
      });
  };
  return { page, fetchMore, reload };
}

/** Returns the number of results, announced to screen readers during a search. */
function countText(
  page: ISessionPage | null,
  query: string,
  showsArchived: boolean,
  words: IWords
): string {
  if (page === null) {
    return words.__('Looking for sessions…');
  }
  if (page.total > 0) {
    return words._n('%1 session', '%1 sessions', page.total);
  }
  if (query.trim() !== '') {
    return words.__('No session holds these words.');
  }
  return showsArchived
    ? words.__('No session is archived.')
    : words.__('There is no session yet.');
}
