/**
 * The top of the panel: which session, how it stands, how full the window is, what it cost.
 */
import { useEffect, useRef, useState } from 'react';
import { isBusy } from '../../state/standing';
import type { ITranscript } from '../../state/transcript';
import { useHost, type IWords } from '../host';
import { Sign, type State } from '../sign';
import { useChat } from './model';
import { Sessions, titled } from './sessions';
import { Window } from './window';

/** Draws the head and, when opened, the list of sessions. */
export function Head({ transcript }: { transcript: ITranscript }) {
  const { Icon, words } = useHost();
  const chat = useChat();
  const [choosing, setChoosing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { session } = transcript;
  const title = session?.title ?? '';
  const close = () => {
    setChoosing(false);
    button.current?.focus();
  };
  return (
    <div className="plm-Panel-head">
      <div className="plm-Panel-row">
        <h2 className="plm-Panel-title">
          <button
            type="button"
            ref={button}
            className="plm-Panel-choose"
            aria-expanded={choosing}
            title={words.__('Sessions')}
            onClick={() => {
              setChoosing(!choosing);
            }}
          >
            <span className="plm-Panel-name">{titled(title, words)}</span>
            <span className="plm-Fold-caret" aria-hidden="true">
              <Icon name={choosing ? 'unfold' : 'fold'} />
            </span>
          </button>
        </h2>
        <Standing transcript={transcript} />
        {isBusy(transcript) && (
          <button
            type="button"
            className="plm-Button plm-Stop"
            onClick={() => {
              chat.stop();
            }}
          >
            <Icon name="stopped" />
            {words.__('Stop')}
          </button>
        )}
      </div>
      {choosing ? (
        <Sessions current={session?.id ?? ''} onClose={close} />
      ) : (
        <Window transcript={transcript} />
      )}
    </div>
  );
}

function Standing({ transcript }: { transcript: ITranscript }) {
  const { words } = useHost();
  const { asks, status } = transcript;
  const left = useSecondsTo(status.type === 'retry' ? status.next : null);
  if (!isBusy(transcript)) {
    return null;
  }
  const state: State =
    asks.length > 0
      ? 'waiting'
      : status.type === 'retry'
        ? 'pending'
        : 'running';
  return (
    <span
      className="plm-Panel-status"
      title={status.type === 'retry' ? status.message : undefined}
    >
      <Sign state={state} />
      <span aria-hidden={state !== 'pending'}>{named(state, left, words)}</span>
    </span>
  );
}

function named(state: State, left: number, words: IWords): string {
  switch (state) {
    case 'waiting':
      return words.__('waiting for you');
    case 'pending':
      return words.__('tries again in %1 s', left);
    default:
      return words.__('running');
  }
}

/** Counts the seconds down to a moment; nought when there is none. */
function useSecondsTo(moment: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (moment === null) {
      return;
    }
    const tick = () => {
      setNow(Date.now());
    };
    tick();
    const timer = window.setInterval(tick, 1000);
    return () => {
      window.clearInterval(timer);
    };
  }, [moment]);
  return moment === null ? 0 : Math.max(0, Math.ceil((moment - now) / 1000));
}
