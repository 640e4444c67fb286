/**
 * The buttons that the kernel's table of operations has for the panel.
 */
import { useEffect, useState } from 'react';
import type { OperationButton } from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';
import { useHost } from '../host';

/** Draws a button for each operation that has one, and what the newest said; nothing where none has. */
export function OperationButtons() {
  const { words } = useHost();
  const prompts = usePromptActions();
  const [buttons, setButtons] = useState<readonly OperationButton[]>([]);
  const [said, setSaid] = useState('');
  useEffect(() => {
    let wanted = true;
    void prompts.operations().then(found => {
      if (wanted) {
        setButtons(found?.buttons ?? []);
      }
    });
    return () => {
      wanted = false;
    };
  }, [prompts]);
  if (buttons.length === 0) {
    return null;
  }
  return (
    <div className="plm-Operations" role="group" aria-label={words.__('More')}>
      {buttons.map(one => (
        <button
          key={one.label}
          type="button"
          className="plm-Link"
          title={one.help}
          onClick={() => {
            void prompts.operate(one).then(setSaid);
          }}
        >
          {one.label}
        </button>
      ))}
      <p className="plm-Muted plm-Operations-words" role="status" dir="auto">
        {said}
      </p>
    </div>
  );
}
