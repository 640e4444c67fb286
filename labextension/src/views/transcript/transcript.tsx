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
  empty: ReactNode;
  /** Content below the newest turn. */
  children?: ReactNode;
  /** Grows with each request to search the session; 0 while nothing is searched. */
  search?: number;
  onSearchEnd?: () => void;
}

/** Draws the transcript; it stays at its end until the user scrolls up. */
export function Transcript({
  transcript,
  readOnly,
  empty,
  children,
  search = 0,
  onSearchEnd
}: ITranscriptProps) {
  const { words } = useHost();
  const { pages: shown, turns: allTurns } = usePages(transcript);
  const last = shown.at(-1);
  const count = last === undefined ? 0 : last.firstIndex + last.turns.length;
  const busy = isBusy(transcript);
  const { entries, session } = transcript;
  const reverted = useMemo(
    () => revertedMessages({ entries, session }),
    [entries, session]
  );
  const { place, atEnd, toEnd, leaveEnd } = useEndScroll();
  useShownTurn(place, allTurns, leaveEnd);
  const covered = useCovered(allTurns);
  return (
    <div className="plm-Transcript-frame">
      {search > 0 && (
        <SessionSearch
          turns={allTurns}
          elementRef={place}
          request={search}
          onLeave={leaveEnd}
          onClose={() => {
            onSearchEnd?.();
            place.current?.focus({ preventScroll: true });
          }}
        />
      )}
      <div
        className="plm-Transcript"
        ref={place}
        role="region"
        aria-label={words.__('Transcript')}
        data-end={atEnd}
        tabIndex={0}
      >
        <div className="plm-Transcript-turns">
          {shown.length === 0 ? (
            empty
          ) : (
            <ScrollProvider value={place}>
              <CoveredTurnsProvider value={covered}>
                <TurnListProvider transcript={transcript} count={count}>
                  <div
                    className="plm-Transcript-feed"
                    role="feed"
                    aria-label={words.__('Turns')}
                  >
                    {shown.map((page, number) => (
                      <TurnPage
                        key={page.firstIndex}
                        page={page}
                        newest={number === shown.length - 1}
                        live={busy && number === shown.length - 1}
                        canRetry={
                          !busy && !readOnly && number === shown.length - 1
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
          {(busy && shown.length > 0 ? [] : transcript.held).map(request => (
            <div key={request.id} className="plm-UnattachedAsk">
              <HeldRequest held={request} />
            </div>
          ))}
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
function useCovered(allTurns: readonly ITurn[]): ICoveredTurns {
  const newest = useLatest(allTurns);
  return useMemo(
    () => ({
      lookUnderneath: mark => {
        openedPlace.set(newestCoveredPlace(newest.current, mark));
      }
    }),
    [newest]
  );
}

interface IKnown {
  entries: ITranscript['entries'];
  turns: readonly ITurn[];
  pages: readonly ITurnPage[];
}

/** Groups a transcript into pages of turns, and keeps unchanged pages. */
function usePages({ entries }: ITranscript): IKnown {
  const [known, setKnown] = useState<IKnown>({
    entries: [],
    turns: [],
    pages: []
  });
  if (known.entries === entries) {
    return known;
  }
  const now = turnsOf({ entries }, known.turns);
  const next = { entries, turns: now, pages: pagesOf(now, known.pages) };
  setKnown(next);
  return next;
}
