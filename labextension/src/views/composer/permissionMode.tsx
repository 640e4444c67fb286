/** Permission mode, approvals, and settings that wait for trust. */
import { useEffect, useId, useState } from 'react';
import type {
  ApprovalRow,
  Choices,
  SessionInfo
} from '../../protocol/generated';
import { LinkButton, OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { modeName } from '../controls/permissionWords';
import { Picker } from '../controls/picker';
import { StepModeSwitch } from './stepModeSwitch';
import { usePermissionActions } from '../actions/permissions';
import { unlessGone } from '../dom/effects';

/** The mode in which every change needs an approval. */
export const ASK_MODE = 'ask';

/** Returns the mode of a session; before its first turn the configured one. */
export function modeOf(
  session: SessionInfo | undefined,
  choices: Choices | null
): string {
  const sessionMode = session?.mode ?? '';
  return sessionMode === '' ? (choices?.mode ?? ASK_MODE) : sessionMode;
}

/** Draws the mode as a chip; a chosen mode applies from the next call on. */
export function PermissionMode(props: {
  session: SessionInfo | undefined;
  choices: Choices | null;
  /** Whether each request waits until it is let go. */
  isStepMode: boolean;
}) {
  const { session, choices, isStepMode } = props;
  const { words } = useHost();
  const permissions = usePermissionActions();
  const mode = modeOf(session, choices);
  return (
    <span className="plm-PermissionMode" data-mode={mode}>
      <Picker
        label={words.__('Permission mode')}
        value={mode}
        nameOf={value => modeName(value, words)}
        chipTextOf={value =>
          value === ASK_MODE ? words.__('asks first') : modeName(value, words)
        }
        state={isStepMode ? words.__('step by step') : ''}
        options={(choices?.modes ?? []).map(({ name, description }) => ({
          value: name,
          about: description
        }))}
        foot={
          <>
            <StepModeSwitch isOn={isStepMode} />
            <Approvals />
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
function Approvals() {
  const { words } = useHost();
  const permissions = usePermissionActions();
  const [approvals, setApprovals] = useState<readonly ApprovalRow[] | null>(
    null
  );
  const titleId = useId();
  useEffect(
    () => unlessGone(permissions.approvals(), setApprovals),
    [permissions]
  );
  const revoke = (numbers: readonly number[]) => {
    void permissions.revoke(numbers).then(setApprovals);
  };
  if (approvals === null) {
    return null;
  }
  return (
    <div className="plm-Approvals" role="group" aria-labelledby={titleId}>
      <p className="plm-Approvals-title" id={titleId}>
        {words.__('Always allowed')}
      </p>
      {approvals.length === 0 && (
        <p className="plm-Muted">
          {words.__(
            'Nothing yet. A question answered with “Always” is listed here.'
          )}
        </p>
      )}
      <ul>
        {approvals.map(approval => (
          <li key={approval.number}>
            <span className="plm-Approvals-rule">
              {approval.pattern === '*' ? (
                <span>{words.__('Everything')}</span>
              ) : (
                <code>{approval.pattern}</code>
              )}
              <span className="plm-Muted">
                {`${approval.permission} · ${approval.where}`}
              </span>
            </span>
            <LinkButton
              aria-label={words.__('Revoke %1', approval.pattern)}
              onClick={() => {
                revoke([approval.number]);
              }}
            >
              {words.__('Revoke')}
            </LinkButton>
          </li>
        ))}
      </ul>
      {approvals.length > 1 && (
        <LinkButton
          onClick={() => {
            revoke([]);
          }}
        >
          {words.__('Revoke all')}
        </LinkButton>
      )}
    </div>
  );
}

/** Asks once whether to trust the permissions in the project's own settings file. */
export function TrustPrompt(props: {
  untrusted: readonly string[];
  onTrusted: () => void;
}) {
  const { untrusted, onTrusted } = props;
  const { words } = useHost();
  const permissions = usePermissionActions();
  const [dismissedText, setDismissedText] = useState('');
  const untrustedText = untrusted.join('\n');
  if (untrustedText === '' || untrustedText === dismissedText) {
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
        {untrusted.map(approval => (
          <li key={approval}>
            <code>{approval}</code>
          </li>
        ))}
      </ul>
      <span className="plm-TrustPrompt-buttons">
        <OutlinedButton
          onClick={() => {
            void permissions.trustProject().then(onTrusted);
          }}
        >
          {words.__('Trust this project')}
        </OutlinedButton>
        <OutlinedButton
          onClick={() => {
            setDismissedText(untrustedText);
          }}
        >
          {words.__('Not now')}
        </OutlinedButton>
      </span>
    </div>
  );
}
