// BT and SP step by step, class S: after each step, norms of residuals must equal those of the reference implementation
// (NPB 3.4 MPI, one rank, gfortran 12.2 -O2), which printed 17 digits.
#include "bench/npb/flow_steps.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::npb;
using namespace kiviat::test;

namespace {

struct Step {
  int number;
  flow::State residual;
};

const std::vector<Step> of_bt = {
    {1,
     {3.3535293688400045e+04, 3.3560713246604819e+03, 8.4375947504741835e+03, 7.1127400861543538e+03,
      4.7563208848732633e+04}},
    {2,
     {1.8162329826690075e+04, 1.7974029915046181e+03, 4.5281305427869693e+03, 3.8179988587846060e+03,
      2.5968545235854701e+04}},
    {3,
     {1.0621502763201233e+04, 1.0336369451242274e+03, 2.6350672245667743e+03, 2.2266731272178931e+03,
      1.5658709383582627e+04}},
    {5,
     {4.4104863211605270e+03, 4.0654316731695502e+02, 1.0894475428383864e+03, 9.3159048198618939e+02,
      7.1994596144336938e+03}},
    {10,
     {9.8511153181010798e+02, 8.5511567622834789e+01, 2.4236163424372390e+02, 2.1372130790840723e+02,
      1.9147029060251475e+03}},
    {20,
     {1.0743035424946312e+02, 1.0567374759819511e+01, 2.5308825990355874e+01, 2.2199992227923765e+01,
      2.0322926671476409e+02}},
    {40,
     {2.9654596324338556e+00, 2.5345975638749485e-01, 6.1299775240045162e-01, 5.1065526431588160e-01,
      3.7131224593338557e+00}},
    {60,
     {1.7034283709541420e-01, 1.2975252070046231e-02, 3.2527926989501868e-02, 2.6436421275147875e-02,
      1.9211784131744600e-01}},
};
const std::vector<Step> of_sp = {
    {1,
     {3.1104879395393949e+04, 2.7469904155221684e+03, 7.5716258562911116e+03, 6.3543275136936554e+03,
      4.3865749584545454e+04}},
    {2,
     {1.6482304694430040e+04, 1.3530760413804358e+03, 3.9385107671186188e+03, 3.3030628877648824e+03,
      2.3713090105251737e+04}},
    {3,
     {9.1923869908770012e+03, 7.0632135252673208e+02, 2.1704810759393495e+03, 1.8250384043153122e+03,
      1.3501105557577455e+04}},
    {5,
     {3.1512243057350697e+03, 2.3429524988095969e+02, 7.4873672721151183e+02, 6.3773137261474812e+02,
      4.8936326483988387e+03}},
    {10,
     {3.5504763358767957e+02, 5.0121257997918555e+01, 1.0303611907949646e+02, 9.3033035906658526e+01,
      6.1064309244662081e+02}},
    {20,
     {2.6023393290170766e+01, 7.4785456080626673e+00, 1.1937320648744787e+01, 1.1456164908095928e+01,
      3.0593863519668748e+01}},
    {50,
     {1.1420776258025767e+00, 4.1174090236764849e-01, 6.3052401021622262e-01, 6.1124562095710022e-01,
      1.2244003587380701e+00}},
    {100,
     {2.7470315451389574e-02, 1.0360746705286443e-02, 1.6235745065076228e-02, 1.5840557224455650e-02,
      3.4849040609418618e-02}},
};

// Largest relative difference after any step.
double worst(const char* name, FlowProgram (*program)(const Trial&), const std::vector<Step>& history,
             const World& world) {
  Session session(world.comm);
  const Case spec{"case", name, {{"class", "S"}}};
  Trial trial(spec, find_benchmark(name), session, world.comm);
  FlowSteps steps(trial, program(trial));
  steps.prepare(), steps.start();
  double most = 0;
  int done = 0;
  for (const Step& step : history) {
    for (; done < step.number; ++done) steps.step();
    const flow::State found = steps.residual();
    for (std::size_t m = 0; m < flow::components; ++m) most = std::max(most, std::abs(found[m] / step.residual[m] - 1));
  }
  return most;
}

}  // namespace

// Rounding errors accumulate over the steps; published values are only compared to 1e-8.
RANKED_TEST(bt_goes_the_reference_s_way, 1, 4) { EXPECT(worst("bt", bt_program, of_bt, world) < 1e-9); }

RANKED_TEST(sp_goes_the_reference_s_way, 1, 4) { EXPECT(worst("sp", sp_program, of_sp, world) < 1e-9); }
