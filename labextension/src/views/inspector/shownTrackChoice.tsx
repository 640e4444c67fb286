/** Whether grid, window, difference and request show the recording or the policy. */
import { useHost } from '../host';
import { useInspection } from './controls/inspection';

/** Draws the two choices; nothing where there is one track. */
export function ShownTrackChoice() {
  const { words } = useHost();
  const { whatIf, shown, recorded, showWhatIf } = useInspection();
  if (whatIf === null) {
    return null;
  }
  const choices: [string, boolean][] = [
    [words.__('recorded'), false],
    [words.__('what if'), true]
  ];
  return (
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
            showWhatIf(isWhatIf);
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
