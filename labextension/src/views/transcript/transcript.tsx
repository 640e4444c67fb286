/** The transcript of a session, from its first prompt to its newest text. */
import { useMemo, useState, type ReactNode } from 'react';
import { pagesOf, type ITurnPage } from '../../state/display/turnPages';
import { revertedMessages } from '../../state/session/reverts';
import { isBusy, unattachedAsks } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { newestCoveredPlace } from '../../state/display/coveredTurns';
import { openedPlace } from '../../state/display/openedPlace';
import { turnsOf, type ITurn } from '../../state/display/turns';
import {
  CoveredTurnsProvider,
  type ICoveredTurns
} from '../actions/contextEdits';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { HeldRequest } from '../modelContext/heldRequest';
import { PermissionPrompt } from '../parts/permissionPrompt';
import { useLatest } from '../dom/effects';
import { useEndScroll } from '../dom/endScroll';
import { ScrollProvider } from '../dom/nearViewport';
import { SessionSearch } from './sessionSearch';
import { useShownTurn } from './shownTurn';
import { TurnPage, TurnListProvider } from './turnRows';

interface ITranscriptProps {
  transcript: ITranscript;
  /** Whether another kernel writes this session. */
  readOnly: boolean;
  /** Content for a session without messages. */
  emptyContent: ReactNode;
  /** Content below the newest turn. */
  children?: ReactNode;
  /** Grows with each request to search the session; 0 while nothing is searched. */
  searchRequests?: number;
  onSearchEnd?: () => void;
}

/** Draws the transcript; it stays at its end until the user scrolls up. */
export function Transcript({
  transcript,
  readOnly,
  emptyContent,
  children,
  searchRequests = 0,
  onSearchEnd
}: ITranscriptProps) {
  const { words } = useHost();
  const { pages, turns: allTurns } = usePages(transcript);
  const lastPage = pages.at(-1);
  const turnCount =
    lastPage === undefined ? 0 : lastPage.firstIndex + lastPage.turns.length;
  const isRunning = isBusy(transcript);
  const { entries, session } = transcript;
  const reverted = useMemo(
    () => revertedMessages({ entries, session }),
    [entries, session]
  );
  const { place: containerRef, atEnd, toEnd, leaveEnd } = useEndScroll();
  useShownTurn(containerRef, allTurns, leaveEnd);
  const coveredTurns = useCoveredTurnsOf(allTurns);
  return (
    <div className="plm-Transcript-frame">
      {searchRequests > 0 && (
        <SessionSearch
          turns={allTurns}
          elementRef={containerRef}
          request={searchRequests}
          onLeave={leaveEnd}
          onClose={() => {
            onSearchEnd?.();
            containerRef.current?.focus({ preventScroll: true });
          }}
        />
      )}
      <div
        className="plm-Transcript"
        ref={containerRef}
        role="region"
        aria-label={words.__('Transcript')}
        data-end={atEnd}
        tabIndex={0}
      >
        <div className="plm-Transcript-turns">
          {pages.length === 0 ? (
            emptyContent
          ) : (
            <ScrollProvider value={containerRef}>
              <CoveredTurnsProvider value={coveredTurns}>
                <TurnListProvider transcript={transcript} count={turnCount}>
                  <div
                    className="plm-Transcript-feed"
                    role="feed"
                    aria-label={words.__('Turns')}
                  >
                    {pages.map((page, number) => (
                      <TurnPage
                        key={page.firstIndex}
                        page={page}
                        isNewest={number === pages.length - 1}
                        isLive={isRunning && number === pages.length - 1}
                        canRetry={
                          !isRunning && !readOnly && number === pages.length - 1
                        }
                        reverted={reverted}
                      />
                    ))}
                  </div>
                </TurnListProvider>
              </CoveredTurnsProvider>
            </ScrollProvider>
          )}
          {unattachedAsks(transcript).map(ask => (
            <div key={ask.id} className="plm-UnattachedAsk">
              <PermissionPrompt ask={ask} />
            </div>
          ))}
          {(isRunning && pages.length > 0 ? [] : transcript.held).map(
            request => (
              <div key={request.id} className="plm-UnattachedAsk">
                <HeldRequest request={request} />
              </div>
            )
          )}
          {children}
        </div>
      </div>
      {!atEnd && (
        <OutlinedButton className="plm-Newest" onClick={toEnd}>
          {words.__('To the newest')}
        </OutlinedButton>
      )}
    </div>
  );
}

/** Returns the action that shows what a compaction covers; it stays the same while turns are added. */
function useCoveredTurnsOf(allTurns: readonly ITurn[]): ICoveredTurns {
  const turnsRef = useLatest(allTurns);
  return useMemo(
    () => ({
      lookUnderneath: marker => {
        openedPlace.set(newestCoveredPlace(turnsRef.current, marker));
      }
    }),
    [turnsRef]
  );
}

interface ITurnPages {
  entries: ITranscript['entries'];
  turns: readonly ITurn[];
  pages: readonly ITurnPage[];
}

/** Groups a transcript into pages of turns, and keeps unchanged pages. */
function usePages({ entries }: ITranscript): ITurnPages {
  const [pages, setPages] = useState<ITurnPages>({
    entries: [],
    turns: [],
    pages: []
  });
  if (pages.entries === entries) {
    return pages;
  }
  const turns = turnsOf({ entries }, pages.turns);
  const next = { entries, turns, pages: pagesOf(turns, pages.pages) };
  setPages(next);
  return next;
}
