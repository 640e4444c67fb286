/** The size of each request of a branch, as bars under the model's limit. */
import type { Branch } from '../../protocol/generated';
import { shortCount } from '../../state/text/numberFormat';
import { useHost } from '../host';

const WIDTH_PX = 120;
const HEIGHT_PX = 44;
const MAX_BARS = 60;
const MAX_STEP_PX = 16;

/** Draws the newest requests as bars; `maxTokens` is the largest of all branches, so that bars can be compared. */
export function BranchSizes(props: { branch: Branch; maxTokens: number }) {
  const { branch, maxTokens } = props;
  const { words } = useHost();
  const { estimates, sizes, window } = branch;
  if (sizes.length === 0) {
    return <span className="plm-Muted">{words.__('no request yet')}</span>;
  }
  const newestSizes = sizes.slice(-MAX_BARS);
  const barStep = Math.min(WIDTH_PX / newestSizes.length, MAX_STEP_PX);
  const largest = Math.max(...sizes);
  const [firstText, lastText] = [
    shortCount(sizes[0] ?? 0),
    shortCount(sizes.at(-1) ?? 0)
  ];
  const rangeText =
    sizes.length === 1
      ? words.__('%1 tokens', firstText)
      : words.__('%1 to %2 tokens', firstText, lastText);
  return (
    <>
      <svg
        className="plm-BranchSizes"
        viewBox={`0 0 ${WIDTH_PX} ${HEIGHT_PX}`}
        width={WIDTH_PX}
        height={HEIGHT_PX}
        aria-hidden="true"
      >
        {newestSizes.map((size, index) => {
          const height = Math.max(1, (size / maxTokens) * HEIGHT_PX);
          return (
            <rect
              key={index}
              x={index * barStep}
              y={HEIGHT_PX - height}
              width={Math.max(1, barStep - 1)}
              height={height}
            />
          );
        })}
      </svg>
      <span className="plm-Branches-sizes">
        {rangeText}
        {window > 0 &&
          `, ${words.__(
            'at most %1 % of %2',
            ((largest / window) * 100).toFixed(1),
            shortCount(window)
          )}`}
        {estimates > 0 &&
          ` ${
            estimates === sizes.length
              ? words.__('(estimated)')
              : words.__('(%1 of %2 estimated)', estimates, sizes.length)
          }`}
      </span>
    </>
  );
}
