/**
 * Permission mode, approvals, and settings that wait for trust.
 */
import { useEffect, useId, useState } from 'react';
import type {
  ApprovalRow,
  Choices,
  SessionInfo
} from '../../protocol/generated';
import { useHost } from '../host';
import { modeName } from '../controls/modeNames';
import { Picker } from '../controls/picker';
import { StepModeSwitch } from './stepModeSwitch';
import { usePermissionActions } from '../actions/permissions';

/** The mode in which every change needs an approval. */
export const ASK = 'ask';

/** Returns the mode of a session; before its first turn the configured one. */
export function modeOf(
  session: SessionInfo | undefined,
  choices: Choices | null
): string {
  const kept = session?.mode ?? '';
  return kept === '' ? (choices?.mode ?? ASK) : kept;
}

/** Draws the mode as a chip; a chosen mode applies from the next call on. */
export function PermissionMode({
  session,
  choices,
  stepping
}: {
  session: SessionInfo | undefined;
  choices: Choices | null;
  /** Whether each request waits until it is let go. */
  stepping: boolean;
}) {
  const { words } = useHost();
  const permissions = usePermissionActions();
  const mode = modeOf(session, choices);
  return (
    <span className="plm-PermissionMode" data-mode={mode}>
      <Picker
        label={words.__('Permission mode')}
        value={mode}
        named={value => modeName(value, words)}
        chip={value =>
          value === ASK ? words.__('asks first') : modeName(value, words)
        }
        state={stepping ? words.__('step by step') : ''}
        options={(choices?.modes ?? []).map(({ name, description }) => ({
          value: name,
          about: description
        }))}
        foot={
          <>
            <StepModeSwitch on={stepping} />
            <AlwaysAllowed />
          </>
        }
        onChoose={name => {
          permissions.setMode(name);
        }}
      />
    </span>
  );
}

/** Draws the approvals, each with a button to revoke it. */
function AlwaysAllowed() {
  const { words } = useHost();
  const permissions = usePermissionActions();
  const [found, setFound] = useState<readonly ApprovalRow[] | null>(null);
  const title = useId();
  useEffect(() => {
    let wanted = true;
    void permissions.approvals().then(list => {
      if (wanted) {
        setFound(list);
      }
    });
    return () => {
      wanted = false;
    };
  }, [permissions]);
  const revoke = (numbers: readonly number[]) => {
    void permissions.revoke(numbers).then(setFound);
  };
  if (found === null) {
    return null;
  }
  return (
    <div className="plm-Approvals" role="group" aria-labelledby={title}>
      <p className="plm-Approvals-title" id={title}>
        {words.__('Always allowed')}
      </p>
      {found.length === 0 && (
        <p className="plm-Muted">
          {words.__(
            'Nothing yet. A question answered with “Always” is listed here.'
          )}
        </p>
      )}
      <ul>
        {found.map(one => (
          <li key={one.number}>
            <span className="plm-Approvals-rule">
              {one.pattern === '*' ? (
                <span>{words.__('Everything')}</span>
              ) : (
                <code>{one.pattern}</code>
              )}
              <span className="plm-Muted">
                {`${one.permission} · ${one.where}`}
              </span>
            </span>
            <button
              type="button"
              className="plm-Link"
              aria-label={words.__('Revoke %1', one.pattern)}
              onClick={() => {
                revoke([one.number]);
              }}
            >
              {words.__('Revoke')}
            </button>
          </li>
        ))}
      </ul>
      {found.length > 1 && (
        <button
          type="button"
          className="plm-Link"
          onClick={() => {
            revoke([]);
          }}
        >
          {words.__('Revoke all')}
        </button>
      )}
    </div>
  );
}

/** Asks once whether to trust the permissions in the project's own settings file. */
export function TrustPrompt({
  waits,
  onTrusted
}: {
  waits: readonly string[];
  onTrusted: () => void;
}) {
  const { words } = useHost();
  const permissions = usePermissionActions();
  const [hidden, setHidden] = useState('');
  const what = waits.join('\n');
  if (what === '' || what === hidden) {
    return null;
  }
  return (
    <div
      className="plm-TrustPrompt"
      role="group"
      aria-label={words.__('Trust')}
    >
      <p>
        {words.__(
          'This project’s file would let the agent do more. It waits until you trust it:'
        )}
      </p>
      <ul>
        {waits.map(one => (
          <li key={one}>
            <code>{one}</code>
          </li>
        ))}
      </ul>
      <span className="plm-TrustPrompt-buttons">
        <button
          type="button"
          className="plm-Button"
          onClick={() => {
            void permissions.trustProject().then(onTrusted);
          }}
        >
          {words.__('Trust this project')}
        </button>
        <button
          type="button"
          className="plm-Button"
          onClick={() => {
            setHidden(what);
          }}
        >
          {words.__('Not now')}
        </button>
      </span>
    </div>
  );
}
