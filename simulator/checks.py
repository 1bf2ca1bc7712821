from models.plan import Plan
def makespan_of(plan: Plan) -> int:
    return max((o.end for o in plan.ops), default=0) + plan.hardware.kernel.final_sync_cycles
def run_checks(bench, cycles):
    print(cycles)
