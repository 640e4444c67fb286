/** The choice whether grid, window, difference and request show the recording or the policy. */
import { memo } from 'react';
import { useHost } from '../host';
import { useInspectedSession } from './controls/inspection';

/** Draws the two choices; nothing where there is one track. */
export const ShownTrackChoice = memo(function ShownTrackChoice() {
  const { words } = useHost();
  const { whatIf, shown, recorded, go } = useInspectedSession();
  if (whatIf === null) {
    return null;
  }
  const choices: [string, boolean][] = [
    [words.__('recorded'), false],
    [words.__('what if'), true]
  ];
  return (
    <div className="plm-Inspector-choiceRow">
      <span className="plm-Muted">{words.__('The views below show')}</span>
      <div
        className="plm-Inspector-choice"
        role="group"
        aria-label={words.__('The shown track')}
      >
        {choices.map(([name, isWhatIf]) => (
          <button
            key={name}
            type="button"
            aria-pressed={(shown !== recorded) === isWhatIf}
            onClick={() => {
              go({ what_if: isWhatIf });
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  );
});
