/** A live region that announces events to screen readers: politely, in whole sentences. */
import { useEffect, useRef, useState } from 'react';
import {
  newAnnouncements,
  type IAnnouncementState,
  type Announcement
} from '../../state/display/announcements';
import type { ITranscript } from '../../state/store/transcript';
import { count } from '../../state/text/numberFormat';
import { workText } from '../../state/display/workWords';
import { refusalText } from '../controls/permissionWords';
import { useHost, type IWords } from '../host';

/** The minimum interval between announcements, in milliseconds. */
const MIN_PAUSE_MS = 1500;

/** The number of announcements that stay in the region. */
const MAX_ANNOUNCEMENTS = 20;

/** Draws a region that is visible only to screen readers. */
export function Announcements(props: {
  transcript: ITranscript;
  /** Whether another live region announces the session. */
  isQuiet?: (() => boolean) | undefined;
}) {
  const { transcript, isQuiet = isNeverQuiet } = props;
  const { words } = useHost();
  const announcedRef = useRef<IAnnouncementState | null>(null);
  const transcriptRef = useRef(transcript);
  const timerRef = useRef<number | null>(null);
  const [shownTexts, setShownTexts] = useState<readonly [number, string][]>([]);
  const sessionId = transcript.session?.id;
  const [previousId, setPreviousId] = useState(sessionId);
  if (previousId !== sessionId) {
    // Announcements of another session do not belong to this one.
    setPreviousId(sessionId);
    setShownTexts([]);
  }
  useEffect(() => {
    transcriptRef.current = transcript;
    // The last announcements of a turn come before another turn begins.
    const isOver =
      announcedRef.current?.isBusy === true &&
      transcript.status.type === 'idle';
    if (timerRef.current !== null) {
      if (!isOver) {
        return;
      }
      window.clearTimeout(timerRef.current);
    }
    const announce = () => {
      timerRef.current = null;
      const [announcements, announced] = newAnnouncements(
        transcriptRef.current,
        announcedRef.current
      );
      announcedRef.current = announced;
      if (announcements.length > 0 && !isQuiet()) {
        const text = announcements
          .map(announcement => announcementText(announcement, words))
          .join(' ');
        setShownTexts(texts => {
          const number = (texts.at(-1)?.[0] ?? 0) + 1;
          return [...texts, [number, text] as [number, string]].slice(
            -MAX_ANNOUNCEMENTS
          );
        });
      }
    };
    // The first look is taken at once, so that later content counts as new.
    timerRef.current = window.setTimeout(
      announce,
      announcedRef.current === null || isOver ? 0 : MIN_PAUSE_MS
    );
  }, [transcript, words, isQuiet]);
  useEffect(
    () => () => {
      if (timerRef.current !== null) {
        window.clearTimeout(timerRef.current);
        timerRef.current = null;
      }
    },
    []
  );
  return (
    <div
      className="plm-Hidden"
      role="log"
      aria-live="polite"
      aria-label={words.__('What the agent does')}
    >
      {shownTexts.map(([number, text]) => (
        <p key={number}>{text}</p>
      ))}
    </div>
  );
}

const isNeverQuiet = () => false;

function callText(
  { outcome, subject, tool }: Extract<Announcement, { kind: 'call' }>,
  words: IWords
): string {
  const name = subject === '' ? tool : `${tool}, ${subject}`;
  const { reason, refusal, status } = outcome;
  switch (status) {
    case 'error':
      return asSentence(
        reason === ''
          ? words.__('%1 failed', name)
          : words.__('%1 failed: %2', name, reason)
      );
    case 'refused':
      return asSentence(
        words.__('%1 was %2', name, refusalText(refusal, words))
      );
    case 'stopped':
      return asSentence(
        reason === ''
          ? words.__('%1 was stopped', name)
          : words.__('%1 was stopped: %2', name, reason)
      );
    default:
      return words.__('%1 is done.', name);
  }
}

/** Returns a sentence with its end, at which a screen reader pauses. */
function asSentence(sentence: string): string {
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

function announcementText(announcement: Announcement, words: IWords): string {
  switch (announcement.kind) {
    case 'words':
      return announcement.text;
    case 'call':
      return callText(announcement, words);
    case 'looks':
      return asSentence(
        workText(
          {
            lines: announcement.calls.map(part => ({
              kind: 'tool',
              key: part.id,
              part
            }))
          },
          words
        )
      );
    case 'retry':
      return words.__('%1 It is sent again.', asSentence(announcement.reason));
    case 'asks':
      return words.__('The agent waits for you: %1', announcement.title);
    case 'held':
      return words.__(
        'Request %1 is held: %2 tokens. Send it, stop, or change it first.',
        announcement.number,
        count(announcement.tokens)
      );
    case 'queued':
      return words._n(
        'One prompt waits for this turn to end.',
        '%1 prompts wait for this turn to end.',
        announcement.queuedCount
      );
    case 'back':
      return words._n(
        'The prompt that waited is back in the text field.',
        'The %1 prompts that waited are back in the text field.',
        announcement.promptCount
      );
    case 'begun':
      return words.__('The agent is working.');
    case 'over':
      return words.__('The agent has finished.');
    case 'stopped':
      return words.__('The agent has stopped.');
  }
}
