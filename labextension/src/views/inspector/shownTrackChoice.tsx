/** The choice whether grid, window, difference and request show the recording or the policy. */
import { memo } from 'react';
import { useHost } from '../host';
import { useInspectedSession } from './controls/inspection';
import {
  STOP_ATTRIBUTE,
  TOOLBAR_KEYS,
  useListFocus
} from './controls/listFocus';

/** Draws the two choices; nothing where there is one track. */
export const ShownTrackChoice = memo(function ShownTrackChoice() {
  const { words } = useHost();
  const { whatIf, shownTrack, recordedTrack, goTo } = useInspectedSession();
  const toolbar = useListFocus(2, TOOLBAR_KEYS);
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
        role="toolbar"
        aria-label={words.__('The shown track')}
        {...toolbar.handlers}
      >
        {choices.map(([name, isWhatIf], place) => (
          <button
            key={name}
            type="button"
            aria-pressed={(shownTrack !== recordedTrack) === isWhatIf}
            tabIndex={toolbar.tabIndexOf(place)}
            {...STOP_ATTRIBUTE}
            onClick={() => {
              goTo({ what_if: isWhatIf });
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  );
});
