/** A button that opens the inspector where a step, a reduction or a compaction is. */
import {
  useInspectorOpener,
  type IInspectorTarget
} from '../actions/inspector';
import { useHost } from '../host';

/** Draws the button; nothing where there is no inspector. */
export function InspectButton(props: {
  target: IInspectorTarget;
  /** Whether it is drawn as a link, among numbers. */
  isLink?: boolean;
}) {
  const { target, isLink: isLink = false } = props;
  const { words } = useHost();
  const inspector = useInspectorOpener();
  return inspector === null ? null : (
    <button
      type="button"
      className={isLink ? 'plm-Link' : 'plm-Button plm-Button-small'}
      title={words.__('Show it in the context inspector')}
      onClick={() => {
        inspector.inspect(target);
      }}
    >
      {words.__('Inspect')}
    </button>
  );
}
